"""--direction: what it makes of the name of a run."""

import pytest

from trimtab.cli.arguments import with_direction
from trimtab.errors import InputError


def test_the_option_names_a_direction_behind_the_run() -> None:
    assert with_direction("runs/a", None) == "runs/a"
    assert with_direction("runs/a@last", "en-de") == "runs/a@last#en-de"


def test_a_run_that_names_its_direction_takes_no_option() -> None:
    with pytest.raises(InputError, match="already"):
        with_direction("runs/a#en-de", "de-en")
