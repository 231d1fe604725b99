"""Filters of pairs: sides of a wrong length, sides that differ too much in length, long runs of one character."""

from typing import Literal


def has_character_run(source: str, target: str, *, most: int) -> bool:
    """Whether a side repeats one character, white space included, more than `most` times in a row.

    Source: the repetition filter of OpusFilter (Aulamo et al. 2020, ACL demo 2020.acl-demos.20), for one character.
    """
    return _has_run(source, most + 1) or _has_run(target, most + 1)


def _has_run(text: str, length: int) -> bool:
    # A run of this length covers one of every `length` places in a row, so looking at those is enough.
    for character in set(text[length - 1 :: length]):  # noqa: SIM110 - a generator takes half as long again
        if character * length in text:
            return True
    return False


def is_outside_length(
    source: str, target: str, *, unit: Literal["words", "characters"], least: int, most: int
) -> bool:
    """Whether a side has fewer than `least` or more than `most` words (between spaces) or characters.

    Source: clean-corpus-n of Moses (Koehn et al. 2007, ACL demo P07-2045).
    """
    if unit == "characters":
        return not (least <= len(source) <= most and least <= len(target) <= most)
    return _has_other_words(source, least, most) or _has_other_words(target, least, most)


def _has_other_words(text: str, least: int, most: int) -> bool:
    if least <= 1 and len(text) < 2 * most:  # two characters a word, but for the last: no need to count
        return least == 1 and (not text or text.isspace())
    return not least <= len(text.split()) <= most


def is_outside_ratio(source: str, target: str, *, most: float, min_characters: int) -> bool:
    """Whether the longer side has more than `most` times the characters of the shorter one.

    Never, where neither side is longer than `min_characters`.
    Source: the sentence pair filter of Moses' clean-corpus-n, in characters, which also serve unspaced scripts.
    """
    short, long = sorted((len(source), len(target)))
    return long > min_characters and long > most * short
