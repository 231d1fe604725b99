"""Drops pairs whose sides differ so much in length that one is hardly the translation of the other."""


def is_outside_ratio(source: str, target: str, *, most: float, min_characters: int) -> bool:
    """Whether the longer side has more than `most` times the characters of the shorter one.

    Never, where neither side is longer than `min_characters`.
    Source: the sentence pair filter of Moses' clean-corpus-n, in characters, which also serve unspaced scripts.
    """
    short, long = sorted((len(source), len(target)))
    return long > min_characters and long > most * short
