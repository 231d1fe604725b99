from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trimtab.vocabulary.merges import LEAST_COUNT, continued_merges, one_kind

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=8).map(tuple), st.integers(1, 9), max_size=8)


def slow_twin(words, number):
    """All pairs counted anew before each join."""
    rows = {word: list(word) for word in words}
    pieces = []
    while len(pieces) < number:
        pairs = Counter()
        for word, row in rows.items():
            for pair in pairwise(row):
                pairs[pair] += words[word]
        ranked = sorted((-count, pair) for pair, count in pairs.items() if count >= LEAST_COUNT)
        found = next((pair for _, pair in ranked if "".join(pair) not in pieces), None)
        if found is None:
            break
        pieces.append("".join(found))
        for row in rows.values():
            at = 0
            while at < len(row) - 1:
                if (row[at], row[at + 1]) == found:
                    row[at : at + 2] = [pieces[-1]]
                at += 1
    return pieces


@given(WORDS)
def test_pairs_counted_as_they_change_give_the_same_pieces_as_counted_anew(words):
    merges = continued_merges(words, number=6, join=str.__add__, known=(), allowed=lambda _: True)
    assert [each.piece for each in merges] == slow_twin(words, 6)


def test_known_pieces_and_those_that_are_not_allowed_are_left_out():
    words = {("a", "b", "1"): 5, ("b", "a"): 3}
    merges = continued_merges(words, number=9, join=str.__add__, known=["ab"], allowed=one_kind)
    assert [each.piece for each in merges] == ["ba"]


def test_a_pair_that_occurs_once_is_no_piece():
    assert (
        continued_merges({("a", "b"): 1}, number=9, join=str.__add__, known=(), allowed=lambda _: True) == []
    )


def test_letters_digits_and_signs_do_not_share_a_piece():
    assert one_kind("▁Straße")
    assert one_kind("नमस्ते")
    assert one_kind("...")
    assert not one_kind("a1")
    assert not one_kind("a.")
    assert not one_kind("x" * 17)
