"""How words are split into pieces, as the libraries do it, with the steps in between that surgery has to know.

These are the obvious algorithms; tests compare them with sentencepiece and tokenizers.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

Rank = Callable[[str, str], float | None]
"""The rank of joining two neighbouring pieces, the lowest first; None where they are not joined."""


def unigram_split(word: str, scores: Mapping[str, float], *, longest: int) -> list[str] | None:
    """The likeliest split of a word, by Viterbi search (Kudo 2018, arXiv 1804.10959); None where some character has no
    piece."""
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(word) + 1):
        found = (float("-inf"), -1)
        for start in range(max(0, end - longest), end):
            score = scores.get(word[start:end])
            if score is not None and best[start][0] + score > found[0]:
                found = best[start][0] + score, start
        best.append(found)
    if best[-1][0] == float("-inf"):
        return None
    pieces: list[str] = []
    end = len(word)
    while end:
        start = best[end][1]
        pieces.append(word[start:end])
        end = start
    return pieces[::-1]


def bpe_split(symbols: Iterable[str], rank: Rank) -> tuple[list[str], set[str]]:
    """The symbols joined as byte-pair encoding does (Sennrich et al. 2016, arXiv 1508.07909), and every piece that was
    made or used on the way."""
    pieces = [*symbols]
    seen = {*pieces}
    while len(pieces) > 1:
        ranked = [(rank(*pair), at) for at, pair in enumerate(itertools.pairwise(pieces))]
        joined = min(((value, at) for value, at in ranked if value is not None), default=None)
        if joined is None:
            break
        at = joined[1]
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        seen.add(pieces[at])
    return pieces, seen


def ancestors(pieces: Iterable[str], rank: Rank) -> set[str]:
    """What byte-pair encoding makes on its way to each of these pieces, themselves included.

    A piece is made in the same steps wherever it occurs, since no join crosses its ends; so a text whose pieces are
    all kept, with these, is split as before. A piece that cannot be made (a special symbol) has no ancestors.
    """
    found: set[str] = set()
    for piece in pieces:
        made, seen = bpe_split(piece, rank)
        found |= seen if made == [piece] else {piece}
    return found


def wordpiece_split(word: str, vocabulary: Mapping[str, int], *, prefix: str) -> list[str] | None:
    """The longest piece from the left, again and again (Devlin et al. 2019, arXiv 1810.04805); None where none fits."""
    pieces: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (prefix if start else "") + word[start:end]
            if piece in vocabulary:
                pieces.append(piece)
                break
        else:
            return None
        start = end
    return pieces


def words_of(text: str, *, behind: bool = False) -> list[str]:
    """Words of a normalised text, each with the signs for spaces before it, or `behind` it."""
    return (_BEHIND if behind else _BEFORE).findall(text)


_BEFORE, _BEHIND = re.compile("▁*[^▁]+|▁+"), re.compile("[^▁]+▁*|▁+")


def segments_of(
    word: str,
    split: Callable[[str], Sequence[str] | None],
    *,
    alone: frozenset[str],
    held: Callable[[str], bool],
) -> list[list[str]]:
    """The pieces of a word, cut where a character has no piece; characters that are to get one stand as pieces."""
    segments: list[list[str]] = [[]]
    run = ""
    for character in [*word, ""]:
        if character and held(character):
            run += character
            continue
        if run:
            pieces = split(run)
            segments[-1] += pieces or []
            if pieces is None:
                segments.append([])
        run = ""
        if character in alone and character:
            segments[-1].append(character)
        elif character:
            segments.append([])
    return [each for each in segments if each]
