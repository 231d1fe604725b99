"""Translations by a library that searches by itself, in place of our search."""

from collections.abc import Sequence

from trimtab.decode.hypothesis import Hypothesis, normalise
from trimtab.decode.search import Search
from trimtab.types import Ragged, SearchesItself


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
