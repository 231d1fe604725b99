import math

import pytest

from trimtab.metrics.loops import is_loop, loops
from trimtab.metrics.metric import Readings


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("ACCOUNT ON D ON D ON D ON D", "ACCOUNT", True),
        ("the cat sat sat sat sat sat sat", "the cat sat", True),
        ("aaaaaaaaaaaa", "a", True),
        ("see page ..........", "see page ..........", False),  # as it is written
        ("12222", "12222", False),
        ("a long reading of something else", "short", False),
        ("", "", False),
    ],
)
def test_a_loop_is_a_repeated_end_that_is_not_written_there(output, reference, expected):
    assert is_loop(output, reference) is expected


def test_their_share_is_of_all_lines():
    assert loops(Readings(outputs=["x" * 30, "a"], references=["x", "a"])) == 0.5
    assert math.isnan(loops(Readings(outputs=[], references=[])))
