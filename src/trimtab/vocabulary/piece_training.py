"""Pieces that a text lacks, for tokenizers of each kind; and the scores that a unigram model gives to them."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from trimtab.vocabulary.merges import continued_merges
from trimtab.vocabulary.split import segments_of, unigram_split
from trimtab.vocabulary.vocabulary import Proposal

Split = Callable[[str], Sequence[str] | None]
SURPLUS = 1.25
"""So many times the pieces asked for are tried where pieces compete; of these the most used stay."""
MARGIN = 0.01
"""By how much a new piece of a unigram model beats the pieces it joins, where its frequency alone would not do it."""


def proposed(
    rows: Mapping[tuple[str, ...], int],
    number: int,
    *,
    characters: Mapping[str, int],
    known: Collection[str],
    join: Callable[[str, str], str],
    allowed: Callable[[str], bool],
) -> Proposal:
    """`number` new pieces: the characters, and joins of neighbours in words that are given as their pieces, these
    characters among them, and how often they occur. `known` pieces are none of the joins."""
    merges = continued_merges(
        rows, number=number - len(characters), join=join, known=[*known, *characters], allowed=allowed
    )
    total = sum(len(row) * count for row, count in rows.items())
    return Proposal(characters=characters, merges=tuple(merges), total=total)


def split_rows(
    words: Counter[str], split: Split, *, alone: Collection[str], held: Collection[str]
) -> Counter[tuple[str, ...]]:
    """Words as their pieces, cut where a character is none of those that are `held`, or stand `alone`."""
    rows: Counter[tuple[str, ...]] = Counter()
    chosen = frozenset(alone)
    for word, count in words.items():
        for segment in segments_of(word, split, alone=chosen, held=held.__contains__):
            rows[tuple(segment)] += count
    return rows


def scored(proposal: Proposal, scores: Mapping[str, float]) -> dict[str, float]:
    """Scores of new pieces in a unigram model: the logarithm of the share of the text that they make up, and no less
    than makes them win over their best split so far. The model's own scores are logarithms of shares, too."""
    total = max(proposal.total, 1)
    found = {each: math.log(count / total) for each, count in proposal.characters.items()}
    everything = {**scores, **found}
    longest = max(map(len, everything))
    for merge in proposal.merges:
        parts = unigram_split(merge.piece, everything, longest=max(longest, len(merge.piece)))
        beaten = sum(everything[each] for each in parts) + MARGIN if parts else -math.inf
        found[merge.piece] = everything[merge.piece] = max(math.log(merge.count / total), beaten)
    return found


def most_used(proposal: Proposal, words: Counter[str], number: int, *, split: Split) -> Proposal:
    """The `number` new pieces that a vocabulary with all of them uses most, by its `split`; those that it never takes,
    since another piece swallowed them, are left out."""
    used: Counter[str] = Counter()
    for word, count in words.items():
        for piece in split(word) or ():
            used[piece] += count
    room = number - len(proposal.characters)
    best = sorted(proposal.merges, key=lambda each: (-used[each.piece], each.piece))[:room]
    chosen = {each.piece for each in best if used[each.piece]}
    merges = tuple(each for each in proposal.merges if each.piece in chosen)
    return Proposal(characters=proposal.characters, merges=merges, total=proposal.total)


def unigram_splitter(scores: Mapping[str, float]) -> Split:
    """The split of a unigram model with these scores."""
    longest = max(map(len, scores), default=1)
    return lambda word: unigram_split(word, scores, longest=longest)
