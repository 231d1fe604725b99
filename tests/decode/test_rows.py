import pytest

from tests.decode.copying import CopyingModel, copying
from trimtab.decode.rows import translate_rows
from trimtab.decode.setup import TranslationCounts

END = 3


@pytest.mark.parametrize("beam", [1, 3])
def test_each_row_gets_its_own_translation_whatever_batch_it_was_in(beam):
    rows = [[4 + number % 50] * (1 + 7 * number % 23) + [END] for number in range(40)]
    setup = copying(vocabulary=60, beam=beam, batch_tokens=100)
    found = translate_rows(rows, setup)
    assert [hypothesis.ids for hypothesis in found] == [row[:-1] for row in rows]
    assert isinstance(setup.model, CopyingModel)
    assert len(setup.model.batches) > 2
    assert {width for _, width, _ in setup.model.batches} == {beam}


def test_tokens_are_counted_on_both_sides():
    counts = TranslationCounts()
    translate_rows([[5, 6, END], [7, END]], copying(vocabulary=10), counts=counts)
    translate_rows([[5, END]], copying(vocabulary=10), counts=counts)
    assert (counts.pieces, counts.source_tokens, counts.target_tokens) == (3, 7, 7)


def test_translations_that_reach_their_limit_are_counted():
    counts = TranslationCounts()
    setup = copying(vocabulary=10, max_tokens=4)
    (found,) = translate_rows([[5] * 6], setup, counts=counts)
    assert found.ids == [5, 5, 5]
    assert counts.at_limit == 1


def test_no_rows_give_no_translations():
    assert translate_rows([], copying()) == []
