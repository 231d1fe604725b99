import pytest

from tests.language_run import PAIRS, language_parts
from tests.small_run import small_parts
from trimtab.training.preflight.sides import sides_of
from trimtab.training.preflight.symbols import symbols_are_apart, text_comes_back
from trimtab.training.preflight.text import unknown_pieces


@pytest.mark.parametrize("changes", [{}, PAIRS], ids=["texts", "pairs"])
def test_a_language_model_has_one_vocabulary_which_is_told_of_once_and_as_text(
    tmp_path, monkeypatch, changes
):
    parts = language_parts(tmp_path, **changes)
    (side,) = sides_of(parts)
    assert (side.name, side.key, side.tokenizer) == ("text", "data.tokenizer", parts.sources.tokenizer)
    assert side.rows is parts.sources.sample.target
    monkeypatch.setattr(parts.sources.tokenizer, "unknown", int(side.rows.values[0]))
    monkeypatch.setattr(parts.sources.tokenizer, "decode", lambda rows: ["x"] * len(rows))
    for check, words in (
        (symbols_are_apart, "the text's vocabulary"),
        (unknown_pieces, "of the text tokens are unknown"),
        (text_comes_back, "text lines come back"),
    ):
        parts.sources.tokenizer.pad = parts.sources.tokenizer.start
        (found,) = check(parts)
        assert words in found.message


def test_a_translator_has_two_sides_and_the_keys_of_their_tokenizers(tmp_path):
    shared = small_parts(tmp_path / "shared")
    assert [(each.name, each.key) for each in sides_of(shared)] == [
        ("source", "data.tokenizer"),
        ("target", "data.tokenizer"),
    ]
    own = {"data.source_tokenizer": {"vocabulary_size": 290}, "data.tokenizer": {"vocabulary_size": 300}}
    apart = small_parts(tmp_path / "apart", **own, **{"model.tie_embeddings": "decoder"})
    source, target = sides_of(apart)
    assert (source.key, target.key) == ("data.source_tokenizer", "data.tokenizer")
    assert (source.in_pair, target.in_pair) == (0, 1)
