"""Beam search over one sentence in plain Python, with lists that are sorted and no bound but the limit."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    ids: list[int]
    score: float
    normalised: float


def slow_beam_search(
    log_probabilities: Callable[[list[int]], list[float]],
    *,
    beam: int,
    length_penalty: float,
    limit: int,
    end: int,
    suppress: tuple[int, ...] = (),
    stop_when_enough: bool = False,
    begun: tuple[int, float] = (0, 0.0),
    blocked: Callable[[list[int], int], bool] = lambda ids, symbol: False,
) -> Found:
    """`log_probabilities(ids)` are those of the symbol after `ids`; the search never stops before the limit, unless
    it is told to stop when `beam` hypotheses have finished. `begun` are length and score of what stands before,
    `blocked(ids, symbol)` says what may not come after `ids`."""
    before, score_before = begun
    going: list[tuple[float, list[int]]] = [(score_before, [])]
    finished: list[Found] = []
    for length in range(1, limit + 1):
        candidates = []
        for score, ids in going:
            for symbol, log_probability in enumerate(log_probabilities(ids)):
                if symbol in suppress or (length == limit and symbol != end) or blocked(ids, symbol):
                    continue
                candidates.append((score + log_probability, [*ids, symbol]))
        candidates.sort(key=lambda candidate: -candidate[0])
        for score, ids in candidates[:beam]:
            if ids[-1] == end:
                finished.append(Found(ids[:-1], score, score / (before + length) ** length_penalty))
        if stop_when_enough and len(finished) >= beam:
            break
        going = [(score, ids) for score, ids in candidates if ids[-1] != end][:beam]
    return max(finished, key=lambda found: found.normalised)


def slow_greedy(
    log_probabilities: Callable[[list[int]], list[float]],
    *,
    limit: int,
    end: int,
    suppress: tuple[int, ...] = (),
) -> tuple[list[int], float]:
    """The ids and their summed log-probability, end symbol included in the sum."""
    ids: list[int] = []
    total = 0.0
    while True:
        allowed = {
            symbol: value
            for symbol, value in enumerate(log_probabilities(ids))
            if symbol not in suppress and (len(ids) + 1 < limit or symbol == end)
        }
        best = max(allowed, key=lambda symbol: allowed[symbol])
        total += allowed[best]
        if best == end:
            return ids, total
        ids.append(best)
