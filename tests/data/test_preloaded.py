import pickle
import sys

import pytest

from trimtab.data.preloaded import end_quietly


@pytest.mark.parametrize(
    "error", [EOFError("Ran out of input"), pickle.UnpicklingError("pickle data was truncated")]
)
def test_a_worker_whose_run_was_killed_while_it_began_ends_without_a_traceback(error, capsys):
    end_quietly(type(error), error, None)
    assert capsys.readouterr().err == ""


def test_any_other_error_is_shown(capsys):
    end_quietly(ValueError, ValueError("a bug"), None)
    assert "ValueError: a bug" in capsys.readouterr().err
    assert sys.excepthook is not end_quietly, "only the process that workers come from has it"
