import pytest

from trimtab.export.ctranslate2.target import CTranslate2
from trimtab.inference import load_model
from trimtab.types import Ragged


@pytest.fixture(scope="module")
def both(trained_run, tmp_path_factory):
    model = load_model(f"{trained_run}@last", device="cpu")
    folder = tmp_path_factory.mktemp("ct2")
    CTranslate2().write(model, folder)
    return model, CTranslate2().as_users_open_it(folder)


def test_lines_have_the_ids_of_the_training(both):
    model, opened = both
    lines = ["the old ship", "  wind   turns ", "zzz"]
    assert opened.encode(lines, []) == model.tokenizer.encode(lines)


def test_ids_have_the_text_of_the_training(both):
    model, opened = both
    rows = [row[:-1] for row in model.tokenizer.encode(["das alte schiff", "luft"])]
    assert opened.decode([*rows, []]) == [*model.tokenizer.decode(rows), ""]


def test_no_translation_is_longer_than_its_limit(both):
    model, opened = both
    source = Ragged.of(model.tokenizer.encode(["the old ship turns", "wind", "red sail"]))
    for limits in ([3, 1, 2], [1, 1, 1], [12, 12, 12]):
        found = opened.search(source, beam=4, limits=limits)
        assert all(len(row) + 1 <= limit for row, limit in zip(found, limits, strict=True))
    assert opened.search(source, beam=4, limits=[1, 1, 1]) == [[], [], []]


def test_characters_without_a_piece_are_read_as_in_training(both):
    """Where the vocabulary has no bytes to fall back to. The library does the same, told the pieces of the line."""
    model, opened = both
    lines = ["the & ship", "№", "the old ∞№ wind ½"]
    rows = model.tokenizer.encode(lines)
    assert all(model.tokenizer.unknown in row for row in rows)
    assert opened.encode(lines, []) == rows
    pieces = opened.source.split(lines)
    scored = opened.model.translator.score_batch(pieces, [["▁das"]] * len(lines))
    known = opened.log_probabilities(Ragged.of(rows), Ragged.of(model.tokenizer.encode(["das"] * len(lines))))
    for ours, theirs in zip(known, scored, strict=True):
        assert theirs.log_probs == pytest.approx(ours, abs=1e-5)
