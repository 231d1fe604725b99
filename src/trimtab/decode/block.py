"""A block of lines, translated: cleaned, cut where too long, tokenised, searched, and joined again."""

import re
from collections.abc import Sequence

from trimtab.decode.candidate import NOTHING, Candidate, join_best, join_samples
from trimtab.decode.given_prefix import Prefix, prefix_ids
from trimtab.decode.hypothesis import Hypothesis
from trimtab.decode.lexical_constraints import Term
from trimtab.decode.longline import Piece, cut_line
from trimtab.decode.mbr import most_useful
from trimtab.decode.rows import Row, n_best_rows
from trimtab.decode.sample import Draw
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.decode.terminology import warn_of_missing

LINE_BREAKS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
"""Everything that some program takes for the end of a line."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def translate_block(
    lines: Sequence[str], setup: TranslationSetup, *, counts: TranslationCounts | None = None
) -> list[str]:
    """One translation for each line, in order, without line breaks; empty if there is nothing to translate."""
    return [few[0].text for few in n_best_block(lines, setup, n=1, counts=counts)]


def n_best_block(
    lines: Sequence[str],
    setup: TranslationSetup,
    *,
    n: int,
    prefixes: Sequence[Prefix | None] | None = None,
    first_line: int = 0,
    counts: TranslationCounts | None = None,
) -> list[list[Candidate]]:
    """At most `n` translations for each line, in order, without line breaks: the best first, or samples as drawn; with
    `mbr` the most useful of its candidates.

    An empty one alone where there is nothing to translate. `prefixes` holds for each line what its translation must
    begin with; a line that is cut has it before its first piece. `first_line` is the first line's number in the whole
    input, by which samples have their random numbers.
    """
    counts = counts if counts is not None else TranslationCounts()
    pieces = _pieces(lines, setup, counts)
    forced = prefix_ids(prefixes, setup, first_line=first_line) if prefixes is not None else None
    rows = [
        Row(
            ids=piece.ids,
            prefix=forced[number] if forced is not None and place == 0 else (),
            draw=Draw(first_line + number, place),
            terms=_terms(piece, setup),
        )
        for number, of_line in enumerate(pieces)
        for place, piece in enumerate(of_line)
    ]
    lists = n_best_rows(rows, setup, n=setup.search.candidates(n), counts=counts)
    counts.lines += len(lines)
    counts.empty_lines += sum(not of_line for of_line in pieces)
    counts.cut_lines += sum(len(of_line) > 1 for of_line in pieces)
    found = iter(_candidates(lists, [piece for of_line in pieces for piece in of_line], setup))
    joined = [_joined([next(found) for _ in of_line], setup, n=n) for of_line in pieces]
    if setup.terminology is not None:
        best = [few[0].text for few in joined]
        _count_terms(pieces, best, setup, first_line=first_line, counts=counts)
    return joined


def _terms(piece: Piece, setup: TranslationSetup) -> list[Term]:
    if setup.terminology is None:
        return []
    text = setup.words_alone(piece.text)
    return [each.term for each in setup.terminology.of_text(text, max_tokens=setup.max_tokens)]


def _count_terms(
    pieces: Sequence[Sequence[Piece]],
    translations: Sequence[str],
    setup: TranslationSetup,
    *,
    first_line: int,
    counts: TranslationCounts,
) -> None:
    """Counts the terms of each line and those that its translation lacks, of which the log warns."""
    terminology = setup.terminology
    assert terminology is not None, "terms come from a glossary"
    for number, (of_line, translation) in enumerate(zip(pieces, translations, strict=True), start=1):
        texts = [setup.words_alone(piece.text) for piece in of_line]
        num_terms = sum(len(terminology.glossary.found_in(text)) for text in texts)
        missing = [entry for text in texts for entry in terminology.missing(text, translation)]
        counts.terms += num_terms
        counts.lines_with_terms += num_terms > 0
        counts.missing_terms += len(missing)
        if missing:
            counts.lines_with_missing_terms += 1
            warn_of_missing(missing, line=first_line + number, count=counts.lines_with_missing_terms)


def _candidates(
    lists: list[list[Hypothesis]], pieces: list[Piece], setup: TranslationSetup
) -> list[list[Candidate]]:
    """The hypotheses of each piece as text, with what joins it to the piece before."""
    texts = iter(setup.tokenizer.decode([hypothesis.ids for few in lists for hypothesis in few]))
    return [
        [
            Candidate(
                text=LINE_BREAKS.sub(" ", piece.glue + next(texts)),
                score=hypothesis.normalised,
                log_probability=hypothesis.score,
                num_tokens=hypothesis.length,
            )
            for hypothesis in few
        ]
        for few, piece in zip(lists, pieces, strict=True)
    ]


def _joined(pieces: list[list[Candidate]], setup: TranslationSetup, *, n: int) -> list[Candidate]:
    if not pieces:
        return [NOTHING]
    if (mbr := setup.search.mbr) is not None:
        return join_best([most_useful(few, mbr)[:n] for few in pieces], n=n)
    return join_best(pieces, n=n) if setup.search.sampling is None else join_samples(pieces)


def _pieces(lines: Sequence[str], setup: TranslationSetup, counts: TranslationCounts) -> list[list[Piece]]:
    """The pieces of each line; none for a line without anything to translate."""
    texts = [setup.normalise(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", line)) for line in lines]
    pieces: list[list[Piece]] = [[] for _ in texts]
    filled = [number for number, text in enumerate(texts) if text.strip()]
    rows = setup.tokenizer.encode([texts[number] for number in filled])
    for number, ids in zip(filled, rows, strict=True):
        if len(ids) > setup.max_tokens:
            sizes = {"max_tokens": setup.max_tokens, "within_words": setup.cuts_words}
            pieces[number] = cut_line(texts[number], tokenizer=setup.tokenizer, **sizes)
        elif len(ids) > 1:  # else only the end symbol: the tokenizer saw nothing in the line
            pieces[number] = [Piece(ids, "", texts[number])]
    return pieces
