"""Rows of source ids to rows of target ids: batches, search, and back into the order they came in."""

from collections.abc import Sequence

from trimtab.decode.batches import batches_by_tokens
from trimtab.decode.beam import beam_search
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Hypothesis, Symbols
from trimtab.decode.limits import target_limit
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.decode.stream import stream_of


def translate_rows(
    rows: Sequence[Sequence[int]], setup: TranslationSetup, *, counts: TranslationCounts | None = None
) -> list[Hypothesis]:
    """The best hypothesis for each row of source ids, end symbol included and at most `max_tokens` of them."""
    counts = counts if counts is not None else TranslationCounts()
    found: dict[int, Hypothesis] = {}
    lengths = [len(row) for row in rows]
    for batch in batches_by_tokens(lengths, beam=setup.search.beam, batch_tokens=setup.batch_tokens):
        limits = [target_limit(lengths[row], max_tokens=setup.max_tokens) for row in batch]
        hypotheses = _search([rows[row] for row in batch], limits, setup)
        found.update(zip(batch, hypotheses, strict=True))
        counts.pieces += len(batch)
        counts.source_tokens += sum(lengths[row] for row in batch)
        counts.target_tokens += sum(hypothesis.length for hypothesis in hypotheses)
        counts.at_limit += sum(
            hypothesis.length >= limit for hypothesis, limit in zip(hypotheses, limits, strict=True)
        )
    return [found[row] for row in range(len(rows))]


def _search(rows: list[Sequence[int]], limits: list[int], setup: TranslationSetup) -> list[Hypothesis]:
    source, search = stream_of(rows, setup.device), setup.search
    symbols = Symbols.of(setup.tokenizer)
    if search.beam == 1:
        return greedy(
            setup.model, source, limits=limits, symbols=symbols, length_penalty=search.length_penalty
        )
    return beam_search(setup.model, source, limits=limits, symbols=symbols, search=search)
