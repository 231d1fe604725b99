import pytest
from sacrebleu import corpus_ter

from trimtab.metrics.ter import TER, ter

TRANSLATIONS = ["The cat sat on the mat.", "It is raining today, is it not?"]
REFERENCES = ["The cat sat on a mat.", "It rains today, does it not?"]


def test_the_value_is_that_of_sacrebleu():
    assert ter(TRANSLATIONS, REFERENCES).value == corpus_ter(TRANSLATIONS, [REFERENCES]).score


def test_it_counts_edits_for_a_hundred_words_of_the_reference():
    assert ter(REFERENCES, REFERENCES).value == 0
    one_word_of_six = ter(["The cat sat on the mat."], ["The cat sat on a mat."])
    assert one_word_of_six.value == pytest.approx(100 / 6)
    assert one_word_of_six.signature.startswith(
        "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:"
    )


def test_the_fewest_edits_are_the_best():
    assert TER.lower_is_better
