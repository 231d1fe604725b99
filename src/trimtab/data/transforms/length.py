"""Drops pairs with a side that is too short or too long."""

from typing import Literal


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
