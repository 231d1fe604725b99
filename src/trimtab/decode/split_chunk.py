"""The translation of several sentences at once, given back to its sentences."""

from collections.abc import Sequence
from itertools import accumulate


def split_at(ids: Sequence[int], separator: int) -> list[list[int]]:
    """The parts of a row between separators; one more than there are separators."""
    parts: list[list[int]] = [[]]
    for id in ids:
        if id == separator:
            parts.append([])
        else:
            parts[-1].append(id)
    return parts


def shared_out(parts: Sequence[Sequence[int]], source_lengths: Sequence[int]) -> list[list[int]]:
    """For each source sentence its part of the translation; where there are not as many, by their lengths.

    A part then belongs to the sentence in which the middle of it lies, both sides taken as equally long; so the order
    is kept, nothing is lost, and some sentences may have several parts or none.
    """
    if len(parts) == len(source_lengths):
        return [list(part) for part in parts]
    shared: list[list[int]] = [[] for _ in source_lengths]
    total, written = sum(source_lengths), sum(map(len, parts))
    ends = list(accumulate(source_lengths))
    place, start = 0, 0
    for part in parts:
        middle = start + len(part) / 2
        while place < len(ends) - 1 and middle * total >= ends[place] * written:
            place += 1
        shared[place].extend(part)
        start += len(part)
    return shared
