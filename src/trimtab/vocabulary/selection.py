"""Which pieces of a vocabulary a text needs, and which go first where there is room for fewer."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from trimtab.errors import input_error
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.vocabulary import Text, Vocabulary

MULTIPLE = 8
"""Where no size is given, pieces that were not needed fill the vocabulary up to a multiple, which matrix products of
GPUs are made for."""
ALPHABETS = (
    "LATIN",
    "GREEK",
    "CYRILLIC",
    "ARMENIAN",
    "HEBREW",
    "ARABIC",
    "DEVANAGARI",
    "GEORGIAN",
    "THAI",
    "DIGIT",
)
"""Writing systems of few characters, of which all stay if one occurs: a name may need any of them."""


def select(
    vocabulary: Vocabulary,
    texts: Sequence[Text],
    *,
    size: int | None,
    least: int,
    special: Iterable[int] = (),
) -> VocabularyChange:
    """The ids to keep, in their old order: protected ones, and `special` ones of the model; what the texts use at least
    `least` times; the letters of their alphabets; and what the tokenizer makes on its way to these.

    With `size`, so many: the most used first, then, where there is room, what the tokenizer's own training found most
    useful. Raises InputError if `size` is too small, or not smaller than the vocabulary.
    """
    counts: Counter[int] = Counter()
    for text in texts:
        for row in vocabulary.encode(text.lines, reader=text.reader):
            counts.update(row)
    kept = vocabulary.with_ancestors({*vocabulary.protected, *special})
    if size is not None:
        _check_size(size, least=len(kept), vocabulary=vocabulary)
    wanted = [id for id, count in counts.most_common() if count >= least]
    letters = _letters(vocabulary, texts) if texts else []
    for id in (*wanted, *letters):
        more = vocabulary.with_ancestors([id]) - kept if id not in kept else set[int]()
        if size is None or len(kept) + len(more) <= size:
            kept |= more
    full = size if size is not None else min(-(-len(kept) // MULTIPLE) * MULTIPLE, vocabulary.num_ids)
    for id in vocabulary.by_usefulness():
        if len(kept) == full:
            break
        more = vocabulary.with_ancestors([id]) - kept
        if len(kept) + len(more) <= full:
            kept |= more
    return VocabularyChange.keeping(sorted(kept))


def _letters(vocabulary: Vocabulary, texts: Sequence[Text]) -> list[int]:
    """Pieces of one letter in the alphabets of the texts."""
    scripts = {_script(each) for text in texts for line in text.lines for each in {*line}} & {*ALPHABETS}
    found: list[int] = []
    for id in range(vocabulary.num_ids):
        letter = vocabulary.piece(id).removeprefix("##").strip("▁")
        if len(letter) == 1 and _script(letter) in scripts:
            found.append(id)
    return found


def _script(character: str) -> str:
    return unicodedata.name(character, "").split(" ", 1)[0]


def _check_size(size: int, *, least: int, vocabulary: Vocabulary) -> None:
    if least < size < vocabulary.num_ids:
        return
    raise input_error(
        "--size: does not fit this vocabulary",
        got=f"{size:,}",
        allowed=f"from {least + 1:,} ({least:,} are special symbols, bytes and language codes) to "
        f"{vocabulary.num_ids - 1:,}",
        fix="choose a size between them, or leave it out to keep what --keep-text needs",
    )
