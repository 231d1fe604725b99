"""A block of lines, translated: cleaned, cut where too long, tokenised, searched, and joined again."""

import re
from collections.abc import Sequence

from trimtab.decode.longline import Piece, cut_line
from trimtab.decode.rows import translate_rows
from trimtab.decode.setup import TranslationCounts, TranslationSetup

LINE_BREAKS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
"""Everything that some program takes for the end of a line."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def translate_block(
    lines: Sequence[str], setup: TranslationSetup, *, counts: TranslationCounts | None = None
) -> list[str]:
    """One translation for each line, in order, without line breaks; empty where there is nothing to translate."""
    counts = counts if counts is not None else TranslationCounts()
    pieces = _pieces(lines, setup, counts)
    rows = [piece.ids for of_line in pieces for piece in of_line]
    hypotheses = translate_rows(rows, setup, counts=counts)
    texts = iter(setup.tokenizer.decode([hypothesis.ids for hypothesis in hypotheses]))
    counts.lines += len(lines)
    counts.empty_lines += sum(not of_line for of_line in pieces)
    counts.cut_lines += sum(len(of_line) > 1 for of_line in pieces)
    joined = ("".join(piece.glue + next(texts) for piece in of_line) for of_line in pieces)
    return [LINE_BREAKS.sub(" ", line) for line in joined]


def _pieces(lines: Sequence[str], setup: TranslationSetup, counts: TranslationCounts) -> list[list[Piece]]:
    """The pieces of each line; none for a line without anything to translate."""
    texts = [setup.normalise(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", line)) for line in lines]
    pieces: list[list[Piece]] = [[] for _ in texts]
    filled = [number for number, text in enumerate(texts) if text.strip()]
    rows = setup.tokenizer.encode([texts[number] for number in filled])
    for number, ids in zip(filled, rows, strict=True):
        if len(ids) > setup.max_tokens:
            pieces[number] = cut_line(texts[number], tokenizer=setup.tokenizer, max_tokens=setup.max_tokens)
        elif len(ids) > 1:  # else only the end symbol: the tokenizer saw nothing in the line
            pieces[number] = [Piece(ids, "")]
    return pieces
