"""Drops pairs with a long run of one character: rulers, dotted lines of contents, debris of extraction."""


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
