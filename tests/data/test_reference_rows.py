import pytest

from tests.language_run import PAIRS, language_sources
from tests.small_run import small_sources
from trimtab.data.reference_rows import reference_rows
from trimtab.errors import InputError


def test_a_translator_has_two_streams_and_nothing_is_given(tmp_path):
    recipe, sources = small_sources(tmp_path)
    rows = reference_rows(recipe, sources.tokenizers, ["the ship", "sail"], ["das schiff", "segel"], tags=())
    assert rows.source.row(0).tolist() == sources.tokenizers.source.encode(["the ship"])[0]
    assert rows.target_tokens.tolist() == rows.target.lengths.tolist()
    assert rows.fits.tolist() == [0, 1]


def test_a_decoder_alone_has_one_row_whose_source_is_given(tmp_path):
    recipe, sources = language_sources(tmp_path, **PAIRS)
    pairs = ["the ship", "the ship " * 20], ["das schiff", "segel"]
    rows = reference_rows(recipe, sources.tokenizers, *pairs, tags=())
    ids = [sources.tokenizer.encode([side[0]])[0] for side in pairs]
    assert rows.target.row(0).tolist() == [*ids[0][:-1], sources.feed.separator, *ids[1]]
    assert rows.source_tokens[0] == len(ids[0]) == rows.prompt[0]
    assert rows.target_tokens[0] == len(ids[1])
    assert rows.fits.tolist() == [0]


def test_a_model_of_documents_has_nothing_between_two_sides(tmp_path):
    recipe, sources = language_sources(tmp_path)
    with pytest.raises(InputError, match="no piece '<sep>'"):
        reference_rows(recipe, sources.tokenizers, ["a"], ["b"], tags=())
