import random

import pytest

from tests.data.small_text import sentences, small_tokenizer
from trimtab.data import unigram_draw
from trimtab.data.piece_table import PieceTable
from trimtab.data.unigram_draw import UnigramDraw

TOKENIZER = small_tokenizer()
TABLE = PieceTable.of(TOKENIZER.processor)


def test_the_lattice_that_is_kept_draws_as_the_one_that_is_made_anew(monkeypatch):
    lines = TOKENIZER.normalized(sentences(50, seed=2))
    kept = UnigramDraw(TABLE, 0.2)
    first = [kept.split(line, random.Random(number)) for number, line in enumerate(lines)]
    monkeypatch.setattr(unigram_draw, "_MOST_WORDS", 1)
    anew = UnigramDraw(TABLE, 0.2)
    assert [anew.split(line, random.Random(number)) for number, line in enumerate(lines)] == first
    assert len(anew.lattices) == 1


@pytest.mark.parametrize("text", ["", "▁", "漢", "▁漢字漢", "▁" * 5])
def test_odd_texts_have_a_split(text):
    ids = UnigramDraw(TABLE, 0.1).split(text, random.Random(1))
    assert (ids == []) == (text == "")
