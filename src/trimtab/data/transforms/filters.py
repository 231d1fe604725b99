"""Filters of pairs: sides of a wrong length or of very different lengths, runs of one character, copies, what is no
text."""

import re
import unicodedata
from collections import Counter
from itertools import pairwise
from typing import Literal

_NOT_WORD = re.compile(r"[\W_]+")


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


def is_copy(source: str, target: str, *, similarity: float, min_characters: int) -> bool:
    """Whether the sides are the same text, or share so many pairs of neighbouring characters; case, punctuation and
    spaces do not count.

    Never, where neither side is longer than `min_characters`.
    Source: the coefficient of Dice (1945, Ecology 26:3); that copies harm: Ott et al. 2018, arXiv 1803.00047.
    """
    if max(len(source), len(target)) <= min_characters:
        return False
    one, other = (_NOT_WORD.sub("", text.casefold()) or text for text in (source, target))
    if one == other:
        return True
    total = len(one) + len(other) - 2
    # So many of the first side's pairs may be missing on the other; most translations miss more after a few words.
    left = len(one) - 1 - similarity * total / 2
    if left < 0 or min(len(one), len(other)) < 2:
        return False
    for start in range(len(one) - 1):
        if one[start : start + 2] not in other:
            left -= 1
            if left < 0:
                return False
    shared = (Counter(pairwise(one)) & Counter(pairwise(other))).total()
    return 2 * shared >= similarity * total


def has_few_letters(source: str, target: str, *, least: float) -> bool:
    """Whether a side has a smaller share of letters, with the marks that belong to them, among its characters that are
    no spaces.

    Source: the alphabet ratio filter of OpusFilter (Aulamo et al. 2020, ACL demo 2020.acl-demos.20).
    """
    return _share_of_letters(source) < least or _share_of_letters(target) < least


def _share_of_letters(text: str) -> float:
    written = "".join(text.split())
    letters = sum(map(str.isalpha, written))
    if not written.isascii():
        letters += sum(unicodedata.category(each)[0] == "M" for each in written)
    return letters / max(1, len(written))


def has_long_word(source: str, target: str, *, most: int) -> bool:
    """Whether a side has a word, between spaces, of more than `most` characters.

    Source: the long word filter of OpusFilter (Aulamo et al. 2020, ACL demo 2020.acl-demos.20).
    """
    return any(
        len(text) > most and max(map(len, text.split()), default=0) > most for text in (source, target)
    )
