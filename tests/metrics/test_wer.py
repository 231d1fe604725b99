import math

import pytest

from trimtab.metrics.metric import Readings
from trimtab.metrics.wer import wer


@pytest.mark.parametrize(
    ("outputs", "references", "expected"),
    [
        (["the  cat"], ["the cat"], 0.0),
        (["the cats", "sat"], ["the cat", "sat down"], 0.5),
        ([""], ["a b"], 1.0),
        (["a"], [" "], math.nan),
    ],
)
def test_edits_of_words_are_divided_by_all_words(outputs, references, expected):
    assert wer(Readings(outputs=outputs, references=references)) == pytest.approx(expected, nan_ok=True)
