from sacrebleu import corpus_chrf

from trimtab.metrics.chrf import chrf
from trimtab.metrics.chrfpp import chrfpp

TRANSLATIONS = ["The cat sat on the mat.", "It is raining today, is it not?"]
REFERENCES = ["The cat sat on a mat.", "It rains today, does it not?"]


def test_the_value_is_that_of_sacrebleu_with_pairs_of_words():
    found = chrfpp(TRANSLATIONS, REFERENCES)
    assert found.value == corpus_chrf(TRANSLATIONS, [REFERENCES], word_order=2).score
    assert found.signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")


def test_it_minds_the_words_which_chrf_does_not():
    joined, apart = ["thecat sat on themat"], ["the cat sat on the mat"]
    assert chrf(joined, apart).value == 100
    assert chrfpp(joined, apart).value < 100
