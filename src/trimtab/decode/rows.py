"""Rows of source ids to rows of target ids: batches, search, and back into the order they came in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trimtab.decode.batches import batches_by_tokens
from trimtab.decode.beam import beam_search, n_best_beam_search
from trimtab.decode.constrained_beam import constrained_beam_search
from trimtab.decode.constraints import Constraints
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Hypothesis, Symbols, normalise
from trimtab.decode.lexical_constraints import Term, TermTables, tokens_needed
from trimtab.decode.limits import target_limit
from trimtab.decode.prefilled import Given, Prefilled
from trimtab.decode.sample import Draw, sample, uniform_numbers
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.decode.shortlisted import in_full_ids, short_ids, shortlisted_setup
from trimtab.decode.stream import stream_of
from trimtab.types import Ragged, SearchesItself


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is to be translated in one piece."""

    ids: Sequence[int]
    """Source ids, end symbol included, at most `max_tokens` of them."""
    prefix: Sequence[int] = ()
    """Target ids that the translation must begin with, fewer than `max_tokens`."""
    given: Given | None = None
    """The context before the sentence, where it is translated in a document."""
    draw: Draw
    """Where a sampled translation has its random numbers from."""
    terms: Sequence[Term] = ()
    """What the translation must have in it, together fewer than `max_tokens` tokens; then there is no prefix."""


def translate_rows(
    rows: Sequence[Sequence[int]], setup: TranslationSetup, *, counts: TranslationCounts | None = None
) -> list[Hypothesis]:
    """The best hypothesis for each row of source ids, end symbol included and at most `max_tokens` of them."""
    placed = [Row(ids=ids, draw=Draw(line=number)) for number, ids in enumerate(rows)]
    return [found[0] for found in n_best_rows(placed, setup, n=1, counts=counts)]


def n_best_rows(
    rows: Sequence[Row], setup: TranslationSetup, *, n: int, counts: TranslationCounts | None = None
) -> list[list[Hypothesis]]:
    """At most `n` hypotheses for each row: the best first, or samples in the order in which they were drawn."""
    counts = counts if counts is not None else TranslationCounts()
    width = setup.search.width(n)
    found: dict[int, list[Hypothesis]] = {}
    lengths = [len(row.ids) for row in rows]
    for batch in _batches(rows, setup, width=width):
        limits = [_limit(rows[row], setup) for row in batch]
        chosen = [rows[row] for row in batch]
        # Terms may be of pieces that the shortlist of their line does not have.
        whole = setup.shortlist is None or bool(chosen[0].terms)
        search = _search if whole else _search_in_shortlist
        lists = search(chosen, limits, setup, n=n)
        found.update(zip(batch, lists, strict=True))
        counts.pieces += len(batch)
        counts.source_tokens += sum(lengths[row] for row in batch)
        counts.target_tokens += sum(hypothesis.length for few in lists for hypothesis in few)
        counts.at_limit += sum(few[0].length >= limit for few, limit in zip(lists, limits, strict=True))
    return [found[row] for row in range(len(rows))]


def _batches(rows: Sequence[Row], setup: TranslationSetup, *, width: int) -> Iterator[list[int]]:
    """Rows with terms are searched by themselves, so that the others are searched as without a glossary."""
    for has_terms in (False, True):
        numbers = [number for number, row in enumerate(rows) if bool(row.terms) == has_terms]
        lengths = [len(rows[number].ids) for number in numbers]
        for batch in batches_by_tokens(
            lengths, beam=width, batch_tokens=setup.batch_tokens, most_hypotheses=setup.most_hypotheses
        ):
            yield [numbers[place] for place in batch]


def _limit(row: Row, setup: TranslationSetup) -> int:
    own, capacity = len(row.ids), setup.max_tokens
    if row.given is not None:
        own, capacity = row.given.own_tokens, capacity - len(row.given.target)
    forced = max(len(row.prefix), tokens_needed(row.terms))
    return target_limit(own, max_tokens=capacity, prefix_tokens=forced)


def _search(rows: list[Row], limits: list[int], setup: TranslationSetup, *, n: int) -> list[list[Hypothesis]]:
    if rows[0].terms:
        return _with_terms(rows, limits, setup, n=n)
    search = setup.search
    prefilled = any(row.given is not None and row.given.target for row in rows)
    plain = is_plain(search, [row.prefix for row in rows]) and not prefilled
    if plain and isinstance(setup.model, SearchesItself):
        return searched(setup.model, [row.ids for row in rows], limits=limits, search=search, n=n)
    source = stream_of([row.ids for row in rows], setup.device)
    symbols = Symbols.of(setup.tokenizer)
    if prefilled:
        given = [row.given.target if row.given is not None else () for row in rows]
        setup = replace(setup, model=Prefilled(setup.model, given))
    constraints = Constraints.of(
        [row.prefix for row in rows], no_repeat_ngram=search.no_repeat_ngram, device=setup.device
    )
    shared = {"limits": limits, "symbols": symbols, "constraints": constraints}
    if search.sampling is not None:
        draws = [row.draw for row in rows]
        uniforms = uniform_numbers(draws, seed=search.sampling.seed, samples=n, length=max(limits))
        return sample(setup.model, source, search=search, uniforms=uniforms.to(setup.device), **shared)
    if search.beam == 1:
        found = greedy(setup.model, source, length_penalty=search.length_penalty, **shared)
    elif n == 1:
        found = beam_search(setup.model, source, search=search, **shared)
    else:
        return n_best_beam_search(setup.model, source, search=search, n=n, **shared)
    return [[hypothesis] for hypothesis in found]


def _with_terms(
    rows: list[Row], limits: list[int], setup: TranslationSetup, *, n: int
) -> list[list[Hypothesis]]:
    assert setup.terminology is not None, "terms come from a glossary"
    return constrained_beam_search(
        setup.model,
        stream_of([row.ids for row in rows], setup.device),
        limits=limits,
        symbols=Symbols.of(setup.tokenizer),
        search=setup.search,
        terms=TermTables.of(
            [row.terms for row in rows], opens_word=setup.terminology.opens_word.to(setup.device)
        ),
        n=n,
    )


def _search_in_shortlist(
    rows: list[Row], limits: list[int], setup: TranslationSetup, *, n: int
) -> list[list[Hypothesis]]:
    assert all(row.given is None for row in rows), "a shortlist, and sentences in context"
    prefixes = [row.prefix for row in rows]
    found = shortlisted_setup(setup, [row.ids for row in rows], prefixes=prefixes)
    if found is None:
        return _search(rows, limits, replace(setup, shortlist=None), n=n)
    short, ids = found
    rows = [replace(row, prefix=short_ids(ids, row.prefix)) if row.prefix else row for row in rows]
    return [[in_full_ids(ids, each) for each in few] for few in _search(rows, limits, short, n=n)]


def searched(
    model: SearchesItself, rows: Sequence[Sequence[int]], *, limits: Sequence[int], search: Search, n: int
) -> list[list[Hypothesis]]:
    """At most `n` hypotheses for each row of source ids, end symbol included, the best first. `limits` as for
    `greedy`."""
    found = model.search(
        Ragged.of(rows),
        limits=limits,
        beam=search.beam,
        n=n,
        length_penalty=search.length_penalty,
        exact=search.stop == "exact",
    )
    return [
        [
            Hypothesis(
                ids=ids,
                score=score,
                normalised=normalise(score, length=len(ids) + 1, length_penalty=search.length_penalty),
            )
            for ids, score in few
        ]
        for few in found
    ]


def is_plain(search: Search, prefixes: Sequence[Sequence[int]]) -> bool:
    """Whether a search has nothing in it that needs the scores of each step."""
    return search.sampling is None and search.no_repeat_ngram is None and not any(prefixes)
