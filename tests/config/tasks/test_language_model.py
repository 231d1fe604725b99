from tests.config.tasks.recipes import PAIRS, TEXT, load, refused
from tests.for_each import for_each


def test_a_language_model_of_text_and_pairs_loads():
    both = "[{text: a.txt}, {source: a.en, target: a.de}]"
    assert load(TEXT, **{"data.train": both, "model.prefix": "bidirectional"}).recipe.translates
    sets = "{a: {text: b.txt}, c: {source: b.en, target: b.de}}"
    assert load(TEXT, **{"data.train": both, "data.valid": sets}).recipe.reads_texts


@for_each(
    ("kind", "changes", "path", "what"),
    [
        (TEXT, {"data.train": "[{text: a.txt, tags: [<x>]}]"}, "data.train.0.tags", "have no tags"),
        (TEXT, {"model.prefix": "bidirectional"}, "model.prefix", "there is no prefix"),
        (TEXT, {"data.valid": "{source: b.en, target: b.de}"}, "data.valid", "documents only"),
        (
            TEXT,
            {"data.valid": "{a: {text: b}, c: {source: b.en, target: b.de}}"},
            "data.valid.c",
            "documents only",
        ),
        (PAIRS, {"data.valid": "{text: b.txt}"}, "data.valid.text", "pairs only"),
        (
            PAIRS,
            {"data.valid": "{a: {source: b.en, target: b.de}, c: {text: b}}"},
            "data.valid.c.text",
            "pairs only",
        ),
        (
            TEXT,
            {"data.source_tokenizer": "{vocabulary_size: 500}"},
            "data.source_tokenizer",
            "share one vocabulary",
        ),
        (
            TEXT,
            {"data.tokenizer.sampling": "{kind: subword_regularization}"},
            "data.tokenizer.sampling",
            "with one segmentation",
        ),
        (TEXT, {"data.tokenizer.byte_fallback": "false"}, "data.tokenizer.byte_fallback", "unknown"),
        (
            TEXT,
            {"data.tokenizer.normalization": "nmt_nfkc"},
            "data.tokenizer.normalization",
            "survive encoding",
        ),
        (TEXT, {"data.transforms": "[{kind: normalize}]"}, "data.transforms.0", "learned unchanged"),
        (PAIRS, {"data.transforms": "[{kind: protect}]"}, "data.transforms.0", "for encoder-decoders"),
        (
            TEXT,
            {"step.source_tokens_per_micro_batch": "64"},
            "step.source_tokens_per_micro_batch",
            "no sources",
        ),
    ],
)
def test_what_language_models_do_not_take_is_refused_with_its_place(kind, changes, path, what):
    refused(kind, changes, path, what)


def test_pairs_may_be_filtered_and_translations_scored():
    changes = {"data.transforms": "[{kind: length}, {kind: ratio}]", "evaluate.metrics": "[bleu, chrf]"}
    assert load(PAIRS, **changes).recipe.evaluate.metrics == ("bleu", "chrf")
