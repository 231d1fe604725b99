import json

import pytest

from tests.language_run import language_parts
from tests.small_run import small_parts, small_recipe
from trimtab.build import build
from trimtab.config.corpora import TrainCorpus
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.corpus import open_corpus
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.tasks.text.data_checks import (
    UNKNOWN_WARNING,
    blank_references,
    data_checks,
    unknown_pieces,
    unusual_roles,
)

TWICE = {"data.valid": {"source": "train.en", "target": "train.de"}}


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_nothing_is_found_in_data_that_is_well(tmp_path, parts_of):
    assert [str(each) for each in data_checks(parts_of(tmp_path))] == []


def test_roles_that_few_templates_know_are_found_in_conversations(tmp_path):
    def found(*roles):
        path = tmp_path / "chat.jsonl"
        path.write_text(json.dumps({"messages": [{"role": role, "content": "a"} for role in roles]}) + "\n")
        chats = TrainCorpus(text=str(path), learn="answers")
        corpus = open_corpus(chats, cache=tmp_path / "cache", root=tmp_path, passage_bytes=4096)
        return [(each.code, each.where) for each in unusual_roles([corpus])]

    assert found("system", "user", "tool", "assistant") == []
    assert found("user", "context", "assistant", "model") == [("D214", f"{tmp_path}/chat.jsonl:1")]


def test_a_vocabulary_whose_unknown_is_its_end_has_no_unknown_tokens(tmp_path, monkeypatch):
    """As in Qwen and Llama 3, which spell everything in bytes."""
    parts = language_parts(tmp_path)
    (side,) = parts.examples.sides()
    assert (side.rows.values == side.tokenizer.end).mean() > UNKNOWN_WARNING
    monkeypatch.setattr(side.tokenizer, "unknown", side.tokenizer.end)
    assert [*unknown_pieces(parts)] == []


def test_tags_and_pairs_that_are_trained_on_are_found_in_a_validation_set(tmp_path):
    codes = {
        each.code for each in data_checks(small_parts(tmp_path, **TWICE, **{"data.train.0.tags": ["<x>"]}))
    }
    assert {"D204"} < codes


@pytest.mark.parametrize(("blank", "severity"), [(0, None), (3, "warning"), (24, "error")])
def test_blank_validation_lines_are_found(tmp_path, blank, severity):
    recipe = small_recipe(tmp_path)
    lines = (tmp_path / "dev.de").read_text().splitlines()
    (tmp_path / "dev.de").write_text("".join(f"{line}\n" for line in [" "] * blank + lines[blank:]))
    loaded = resolve_paths(load_recipe(recipe))
    sources = open_datasets(loaded, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
    results = list(blank_references(build(loaded, sources)))
    assert [(each.code, each.severity) for each in results] == ([("D203", severity)] if severity else [])


def test_where_everything_is_dropped_there_is_nothing_to_train_on(tmp_path):
    small_parts(tmp_path)  # leaves its tokenizer, which would find no text to be trained on
    with pytest.raises(InputError, match="nothing is left to train on"):
        small_parts(tmp_path, **{"data.transforms": [{"kind": "length", "min": 7}]})
