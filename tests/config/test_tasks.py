import pytest

from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

TEXT = {
    "data.train": "[{text: a.txt}]",
    "data.valid": "{text: b.txt}",
    "model": "{kind: decoder, preset: tiny}",
    "task": "language_model",
}
PAIRS = {**TEXT, "data.train": "[{source: a.en, target: a.de}]", "data.valid": "{source: b.en, target: b.de}"}
TRANSLATION = {**PAIRS, "task": "translation", "model": "{preset: tiny}"}


def load(kind, **changes):
    values = {"length": "1000 steps", **kind, **changes}
    return parse_recipe(
        "seed: 1\nlength: 1 steps\n", overrides=[f"{key}={value}" for key, value in values.items()]
    )


@pytest.mark.parametrize("kind", [TEXT, PAIRS, TRANSLATION])
def test_what_belongs_together_loads(kind):
    assert load(kind).recipe.task == kind["task"]


def test_a_language_model_of_text_and_pairs_loads():
    both = "[{text: a.txt}, {source: a.en, target: a.de}]"
    assert load(TEXT, **{"data.train": both, "model.prefix": "bidirectional"}).recipe.translates
    sets = "{a: {text: b.txt}, c: {source: b.en, target: b.de}}"
    assert load(TEXT, **{"data.train": both, "data.valid": sets}).recipe.reads_texts


@pytest.mark.parametrize(
    ("kind", "changes", "path", "what"),
    [
        (TRANSLATION, {"model": "{kind: decoder, preset: tiny}"}, "model.kind", "reads no source apart"),
        (TEXT, {"model": "{kind: encoder_decoder, preset: tiny}"}, "model.kind", "has no encoder"),
        (TEXT, {"model": "{preset: tiny}"}, "model.kind", "has no encoder"),
        (TRANSLATION, {"data.train": "[{text: a.txt}]"}, "data.train.0.text", "nothing to translate"),
        (TRANSLATION, {"data.valid": "{text: b.txt}"}, "data.valid.text", "has two sides"),
        (TRANSLATION, {"data.valid": "{dev: {text: b.txt}}"}, "data.valid.dev.text", "has two sides"),
        (TRANSLATION, {"data.tokenizer": "{kind: bytes}"}, "data.tokenizer.kind", "bytes are for language models"),
        (TRANSLATION, {"evaluate.metrics": "[bleu, chrf, perplexity]"}, "evaluate.metrics.2", "of language models"),
        (TEXT, {"evaluate.metrics": "[perplexity, bleu]"}, "evaluate.metrics.1", "nothing is translated"),
        (TEXT, {"evaluate.best.metric": "chrf"}, "evaluate.best.metric", "not measured"),
        (TEXT, {"data.train": "[{text: a.txt, tags: [<x>]}]"}, "data.train.0.tags", "has no tags"),
        (TEXT, {"model.prefix": "bidirectional"}, "model.prefix", "nothing would be a prefix"),
        (TEXT, {"data.valid": "{source: b.en, target: b.de}"}, "data.valid", "documents alone"),
        (TEXT, {"data.valid": "{a: {text: b}, c: {source: b.en, target: b.de}}"}, "data.valid.c", "documents alone"),
        (PAIRS, {"data.valid": "{text: b.txt}"}, "data.valid.text", "pairs alone"),
        (PAIRS, {"data.valid": "{a: {source: b.en, target: b.de}, c: {text: b}}"}, "data.valid.c.text", "pairs alone"),
        (TEXT, {"data.source_tokenizer": "{vocabulary_size: 500}"}, "data.source_tokenizer", "share one vocabulary"),
        (TEXT, {"data.tokenizer.sampling": "{kind: subword_regularization}"}, "data.tokenizer.sampling", "in one way"),
        (TEXT, {"data.tokenizer.byte_fallback": "false"}, "data.tokenizer.byte_fallback", "unknown"),
        (TEXT, {"data.tokenizer.normalization": "nmt_nfkc"}, "data.tokenizer.normalization", "as it was"),
        (TEXT, {"data.transforms": "[{kind: normalize}]"}, "data.transforms.0", "learned as they are"),
        (PAIRS, {"data.transforms": "[{kind: protect}]"}, "data.transforms.0", "for encoder-decoders"),
        (TEXT, {"step.source_tokens_per_micro_batch": "64"}, "step.source_tokens_per_micro_batch", "no sources"),
    ],
)  # fmt: skip
def test_what_does_not_belong_together_is_refused_with_its_place(kind, changes, path, what):
    with pytest.raises(InputError) as caught:
        load(kind, **changes)
    (problem,) = [each for each in caught.value.problems if each.what.startswith(path + ":")]
    assert what in problem.what
    assert problem.fix
    assert problem.where


def test_pairs_may_be_filtered_and_translations_scored():
    changes = {"data.transforms": "[{kind: length}, {kind: ratio}]", "evaluate.metrics": "[bleu, chrf]"}
    assert load(PAIRS, **changes).recipe.evaluate.metrics == ("bleu", "chrf")
