import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.piece_trie import NO_PIECE, PieceTrie

ANY_PIECES = st.lists(st.text("abcé漢🙂", min_size=1, max_size=5), unique=True, max_size=30)


def found_in(trie, text):
    """Where pieces begin, what they are, and their ids and scores."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return {
        (int(place), text[place : place + size]): (int(trie.ids[node]), float(trie.scores[node]))
        for size, (places, nodes) in enumerate(trie.pieces_at(codes, np.full(len(text), len(text))), start=1)
        for place, node in zip(places, nodes, strict=True)
    }


@given(pieces=ANY_PIECES, text=st.text("abcdé漢🙂", max_size=20))
def test_exactly_the_pieces_that_stand_in_a_text_are_found(pieces, text):
    scores = {piece: (number + 7, -float(number)) for number, piece in enumerate(pieces)}
    expected = {
        (start, text[start:end]): scores[text[start:end]]
        for start in range(len(text))
        for end in range(start + 1, len(text) + 1)
        if text[start:end] in scores
    }
    assert found_in(PieceTrie.of(scores), text) == expected


def test_no_piece_reaches_over_the_end_of_what_it_stands_in():
    trie = PieceTrie.of({"a": (4, -1.0), "ab": (5, -2.0), "b": (6, -3.0)})
    codes = np.frombuffer("abab".encode("utf-32-le"), np.uint32)
    ends = np.array([1, 3, 3, 4])  # the texts a, ba, b
    found = [places.tolist() for places, _ in trie.pieces_at(codes, ends)]
    assert found == [[0, 1, 2, 3]]


def test_nodes_that_end_no_piece_are_not_found():
    trie = PieceTrie.of({"abc": (4, -1.0)})
    assert sorted(trie.ids.tolist()) == [NO_PIECE, NO_PIECE, NO_PIECE, 4]
    assert found_in(trie, "ababc") == {(2, "abc"): (4, -1.0)}
