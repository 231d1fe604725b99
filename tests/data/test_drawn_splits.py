import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data import drawn_splits as module
from trimtab.data.drawn_splits import drawn_splits
from trimtab.data.piece_table import PieceTable
from trimtab.data.piece_trie import NO_PIECE

LETTERS = {"▁": 10, "a": 11, "b": 12}
UNKNOWN = 1
BYTES = tuple(range(1000, 1256))


def table_of(*, whole=(), byte_ids=()):
    numbers = {piece: 50 + number for number, piece in enumerate(whole)}
    pattern = re.compile(f"({'|'.join(map(re.escape, whole))})") if whole else None
    scores = {piece: (id, -1.0) for piece, id in (LETTERS | numbers).items()}
    return PieceTable(scores, UNKNOWN, -11.0, byte_ids, numbers, pattern, by_word=True)


def letters(words):
    """A draw that spells each word letter by letter, and notes what it was given."""
    spelled = [words.different[number] for number in words.number.tolist()]
    places = [
        place + each for place, word in zip(words.place, spelled, strict=True) for each in range(len(word))
    ]
    ids = [LETTERS.get(letter, NO_PIECE) for word in spelled for letter in word]
    return np.array(places, np.int64), np.array(ids, np.int32)


def expected(table, text):
    ids = []
    for part in table.parts(text):
        for piece in [part] if part in table.whole else part:
            spelled = table.spell(piece)
            ids += [] if spelled == [UNKNOWN] and ids[-1:] == [UNKNOWN] else spelled
    return ids


@pytest.mark.parametrize("table", [table_of(), table_of(byte_ids=BYTES), table_of(whole=["<a>", "▁<"])])
@given(texts=st.lists(st.text("ab▁<>é漢", max_size=12), max_size=6))
def test_every_text_has_the_ids_of_its_own_pieces(table, texts):
    keys = np.zeros(len(texts), np.uint64)
    assert drawn_splits(table, texts, keys, letters) == [expected(table, text) for text in texts]


def test_a_run_of_unknown_characters_ends_with_its_text():
    keys = np.zeros(4, np.uint64)
    found = drawn_splits(table_of(), ["▁漢字", "漢a", "", "漢▁漢"], keys, letters)
    assert found == [[10, UNKNOWN], [UNKNOWN, 11], [], [UNKNOWN, 10, UNKNOWN]]


def test_a_draw_is_told_where_words_stand_and_of_whose_stream_they_are():
    given = []

    def noted(words):
        given.append(words)
        return letters(words)

    drawn_splits(table_of(whole=["<a>"]), ["▁a▁b<a>", "", "▁aab▁a"], np.array([7, 8, 9], np.uint64), noted)
    (words,) = given
    assert sorted(words.different) == sorted({"▁a", "▁b", "▁aab"})
    assert words.different[0] == "▁aab"
    assert [words.different[number] for number in words.number] == ["▁a", "▁b", "▁aab", "▁a"]
    assert words.place.tolist() == [0, 2, 7, 11]
    assert words.offset.tolist() == [0, 2, 0, 4]
    assert words.key.tolist() == [7, 7, 9, 9]


def test_texts_are_taken_in_batches_and_a_long_one_alone(monkeypatch):
    sizes = []

    def noted(words):
        sizes.append(sum(len(words.different[number]) for number in words.number))
        return letters(words)

    monkeypatch.setattr(module, "_CHARACTERS_AT_ONCE", 10)
    texts = ["a" * 4, "a" * 6, "b" * 25, "a", "a"]
    assert drawn_splits(table_of(), texts, np.zeros(5, np.uint64), noted) == [
        [LETTERS[letter] for letter in text] for text in texts
    ]
    assert sizes == [10, 25, 2]
