from typing import Any

from tests.for_each import for_each
from trimtab.config.consistency import contradictions
from trimtab.config.run import Recipe

POS = {"kind": "file", "name": "pos"}
FILES = {"source": "s", "target": "t"}


def told(*, train: dict[str, Any] | None = None, factors: Any = (POS,), data: Any = None, **recipe: Any):
    tree = {
        "data": {
            "train": [{**FILES, "factors": {"pos": "p"}, **(train or {})}],
            "valid": {**FILES, "factors": {"pos": "p"}},
            "source_factors": list(factors),
            **(data or {}),
        },
        "model": {"kind": "encoder_decoder", "preset": "tiny"},
        "length": "5000 steps",
        **recipe,
    }
    return [(each.path, each.what) for each in contradictions(Recipe.model_validate(tree))]


def test_files_for_each_factor_are_all_that_is_needed():
    assert told() == []
    assert told(factors=[{"kind": "case"}], train={"factors": {}}, data={"valid": FILES}) == []
    assert told(train={"factors": {}, "factor_separator": "|"}) == []


@for_each(
    ("changes", "path", "what"),
    [
        ({"train": {"factors": {}}}, "data.train.0", "has no file for the source factor pos"),
        ({"data": {"valid": FILES}}, "data.valid", "has no file"),
        ({"train": {"factors": {"pos": "p", "ner": "n"}}}, "data.train.0.factors.ner", "no source factor of this"),
        ({"factors": (), "train": {"factors": {}, "factor_separator": "|"}, "data": {"valid": FILES}},
         "data.train.0.factor_separator", "no source factor is read"),
        ({"train": {"both_directions": True, "tags": ["<a>"], "reverse_tags": ["<b>"]}},
         "data.train.0.both_directions", "read both ways"),
        ({"data": {"transforms": [{"kind": "denoise"}]}}, "data.transforms.0", "leaves words out"),
        ({"data": {"transforms": [{"kind": "protect"}]}}, "data.transforms.0", "puts symbols"),
        ({"data": {"tokenizer": {"kind": "superbpe"}}}, "data.tokenizer.kind", "a vocabulary of sentencepiece"),
        ({"factors": [{**POS, "combine": "concat", "dim": 8}]}, "model.tie_embeddings", "narrower"),
        ({"factors": [{**POS, "combine": "concat", "dim": 192}],
          "model": {"preset": "tiny", "tie_embeddings": "decoder"}}, "data.source_factors", "leave no room"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named_with_its_key(changes, path, what):
    assert any(key == path and what in text for key, text in told(**changes))


def test_protect_and_case_go_together():
    data = {"valid": FILES, "transforms": [{"kind": "protect"}]}
    assert told(factors=[{"kind": "case"}], train={"factors": {}}, data=data) == []
