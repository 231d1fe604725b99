import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from trimtab.decode.utilities import pairwise_bleu, pairwise_chrf, utilities

TEXTS = [
    "Das Boot ist rot, nicht wahr?",
    "Das Boot ist rot.",
    "Ein rotes Boot!",
    "das das das das das",
    "",
    "  a ",
    "漢字 und 漢字",
    "Das Boot ist rot, nicht wahr?",
    "x" * 40,
]
texts = st.lists(st.text(alphabet="ab .,c\u3042\U0001f600", max_size=14), min_size=1, max_size=5)


def slow(metric, lines):
    """One pair after another, by sacreBLEU."""
    return np.array([[metric.sentence_score(one, [other]).score for other in lines] for one in lines])


def slow_bleu(lines):
    return slow(BLEU(effective_order=True), lines)


@pytest.mark.parametrize(("fast", "twin"), [(pairwise_chrf, lambda x: slow(CHRF(), x)), (pairwise_bleu, slow_bleu)],
                         ids=["chrf", "bleu"])  # fmt: skip
def test_scores_are_those_of_sacrebleu(fast, twin):
    np.testing.assert_allclose(fast(TEXTS), twin(TEXTS), atol=1e-9)

    @given(texts)
    def check(lines):
        np.testing.assert_allclose(fast(lines), twin(lines), atol=1e-9)

    check()


def test_a_utility_is_chosen_by_its_name():
    np.testing.assert_array_equal(utilities(TEXTS, "chrf"), pairwise_chrf(TEXTS))
    np.testing.assert_array_equal(utilities(TEXTS, "bleu"), pairwise_bleu(TEXTS))


def test_half_characters_have_a_score():
    assert pairwise_chrf(["a\ud800b", "a\ud800b"])[0, 1] == pytest.approx(100)
