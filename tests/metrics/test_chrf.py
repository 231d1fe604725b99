from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import corpus_chrf

from trimtab.metrics.chrf import chrf, chrfpp

TRANSLATIONS = ["The cat sat on the mat.", "It is raining today, is it not?"]
REFERENCES = ["The cat sat on a mat.", "It rains today, does it not?"]


def test_the_value_is_that_of_sacrebleu():
    assert chrf(TRANSLATIONS, REFERENCES).value == corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert 0 < chrf(TRANSLATIONS, REFERENCES).value < 100


def test_the_signature_says_how_the_value_was_computed():
    assert chrf(TRANSLATIONS, REFERENCES).signature.startswith(
        "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:"
    )


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=5))
def test_any_text_has_a_score_between_0_and_100(pairs):
    translations, references = map(list, zip(*pairs, strict=True))
    assert 0 <= chrf(translations, references).value <= 100 + 1e-9


def test_the_value_is_that_of_sacrebleu_with_pairs_of_words():
    found = chrfpp(TRANSLATIONS, REFERENCES)
    assert found.value == corpus_chrf(TRANSLATIONS, [REFERENCES], word_order=2).score
    assert found.signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")


def test_it_minds_the_words_which_chrf_does_not():
    joined, apart = ["thecat sat on themat"], ["the cat sat on the mat"]
    assert chrf(joined, apart).value == 100
    assert chrfpp(joined, apart).value < 100
