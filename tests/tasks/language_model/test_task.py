import pytest

from tests.language_run import PAIRS, language_parts
from trimtab.tasks.text.data_checks import unknown_pieces
from trimtab.tasks.text.symbols import symbols_are_apart, text_comes_back


@pytest.mark.parametrize("changes", [{}, PAIRS], ids=["texts", "pairs"])
def test_a_language_model_has_one_vocabulary_which_is_told_of_once_and_as_text(
    tmp_path, monkeypatch, changes
):
    parts = language_parts(tmp_path, **changes)
    (side,) = parts.examples.sides()
    assert (side.name, side.key, side.tokenizer) == ("text", "data.tokenizer", parts.datasets.tokenizer)
    assert side.rows is parts.datasets.sample.target
    monkeypatch.setattr(parts.datasets.tokenizer, "unknown", int(side.rows.values[0]))
    monkeypatch.setattr(parts.datasets.tokenizer, "decode", lambda rows: ["x"] * len(rows))
    for check, words in (
        (symbols_are_apart, "the text's vocabulary"),
        (unknown_pieces, "of the text tokens are unknown"),
        (text_comes_back, "text lines come back"),
    ):
        parts.datasets.tokenizer.pad = parts.datasets.tokenizer.start
        (found,) = check(parts)
        assert words in found.message
