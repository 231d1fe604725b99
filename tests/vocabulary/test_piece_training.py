from collections import Counter

from trimtab.vocabulary.merges import Merge
from trimtab.vocabulary.piece_training import most_used, proposed, scored, split_rows, unigram_splitter
from trimtab.vocabulary.split import unigram_split
from trimtab.vocabulary.vocabulary import Proposal

SCORES = {"a": -1.0, "b": -1.0, "c": -2.0}


def test_a_new_piece_wins_over_the_pieces_that_it_joins_however_rare_it_is():
    proposal = Proposal(
        characters={}, merges=(Merge("a", "b", "ab", 2), Merge("ab", "c", "abc", 2)), total=10_000
    )
    everything = {**SCORES, **scored(proposal, SCORES)}
    assert unigram_split("ab", everything, longest=3) == ["ab"]
    assert unigram_split("abc", everything, longest=3) == ["abc"]


def test_pieces_that_another_swallowed_are_left_out():
    words = Counter({"abc": 9})
    merges = (Merge("a", "b", "ab", 9), Merge("ab", "c", "abc", 9))
    proposal = Proposal(characters={}, merges=merges, total=27)
    split = unigram_splitter({**SCORES, **scored(proposal, SCORES)})
    assert [each.piece for each in most_used(proposal, words, 2, split=split).merges] == ["abc"]


def test_characters_and_joins_together_are_as_many_as_asked_for():
    words = Counter({"abab": 5, "xab": 4, "cc": 3})
    rows = split_rows(words, unigram_splitter(SCORES), alone="x", held=SCORES)
    proposal = proposed(rows, 3, characters={"x": 4}, known=SCORES, join=str.__add__, allowed=lambda _: True)
    assert len(proposal) == 3
    assert [each.piece for each in proposal.merges] == ["ab", "abab"]
