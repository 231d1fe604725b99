"""Beam search with terms over one sentence in plain Python: dynamic beam allocation with lists and sorting."""

from collections.abc import Callable, Sequence

from tests.reference.beam_search import Found

Ids = list[int]
Terms = Sequence[Sequence[tuple[tuple[int, ...], bool]]]
"""For each term its spellings, and whether each is proposed."""


def ends_with(ids: Ids, part: Sequence[int]) -> bool:
    return len(part) <= len(ids) and ids[len(ids) - len(part) :] == list(part)


def met_terms(ids: Ids, terms: Terms, *, start: int, opens_word: Sequence[bool]) -> set[int]:
    """Which terms are anywhere in the ids."""
    met = set()
    for number, term in enumerate(terms):
        for spelling, proposed in term:
            for stop in range(1, len(ids) + 1):
                before = [start, *ids[:stop]][: stop + 1 - len(spelling)]
                if ends_with(ids[:stop], spelling) and (proposed or opens_word[before[-1]]):
                    met.add(number)
    return met


def begun(ids: Ids, spelling: Sequence[int]) -> int:
    return max(length for length in range(len(spelling) + 1) if ends_with(ids, spelling[:length]))


def missing_tokens(ids: Ids, met: set[int], terms: Terms) -> int:
    shortest = [min(len(spelling) for spelling, proposed in term if proposed) for term in terms]
    open_terms = [number for number in range(len(terms)) if number not in met]
    saved = [
        shortest[number] - (len(spelling) - begun(ids, spelling))
        for number in open_terms
        for spelling, proposed in terms[number]
        if proposed and begun(ids, spelling)
    ]
    return sum(shortest[number] for number in open_terms) - max([0, *saved])


def slow_constrained_beam_search(
    log_probabilities: Callable[[Ids], list[float]],
    terms: Terms,
    *,
    beam: int,
    length_penalty: float,
    limit: int,
    start: int,
    end: int,
    suppress: tuple[int, ...],
    opens_word: Sequence[bool],
) -> Found:
    def need(ids: Ids) -> int:
        return missing_tokens(ids, met_terms(ids, terms, start=start, opens_word=opens_word), terms)

    going: list[tuple[float, Ids]] = [(0.0, [])]
    finished: list[Found] = []
    for length in range(1, limit + 1):
        allowed: list[tuple[float, Ids]] = []
        looked_at: list[tuple[float, Ids]] = []
        for score, ids in going:
            scores = log_probabilities(ids)
            own = [
                (score + scores[symbol], [*ids, symbol])
                for symbol in range(len(scores))
                if symbol not in suppress
                and (length < limit or symbol == end)
                and (symbol != end or need(ids) == 0)
            ]
            allowed += own
            looked_at += sorted(own, reverse=True)[:1]
            met = met_terms(ids, terms, start=start, opens_word=opens_word)
            for number, term in enumerate(terms):
                for spelling, proposed in term:
                    if number not in met and proposed:
                        symbol = spelling[begun(ids, spelling)]
                        looked_at.append((score + scores[symbol], [*ids, symbol]))
        looked_at += sorted(allowed, reverse=True)[: 2 * beam]
        unique = sorted({tuple(ids): score for score, ids in looked_at}.items(), key=lambda each: -each[1])
        candidates = []
        for ids, score in unique:
            lacks = 0 if ids[-1] == end else need(list(ids))
            if ids[-1] == end or lacks < limit - length:
                candidates.append((score, list(ids), lacks))
        for score, ids, _ in [each for each in candidates if each[2] == 0][:beam]:
            if ids[-1] == end:
                finished.append(Found(ids[:-1], score, score / length**length_penalty))
        going = chosen_by_bank([each for each in candidates if each[1][-1] != end], beam=beam)
    return max(finished, key=lambda found: found.normalised)


def chosen_by_bank(candidates: list[tuple[float, Ids, int]], *, beam: int) -> list[tuple[float, Ids]]:
    """An equal share of the beam for each bank, the rest from the bank that lacks least on, then the likeliest."""
    banks = sorted({lacks for _, _, lacks in candidates})
    chosen: list[tuple[float, Ids]] = []
    for place, bank in enumerate(banks):
        share = beam // len(banks) + (place < beam % len(banks))
        chosen += [(score, ids) for score, ids, lacks in candidates if lacks == bank][:share]
    rest = [(score, ids) for score, ids, _ in candidates if (score, ids) not in chosen]
    return sorted([*chosen, *rest[: beam - len(chosen)]], reverse=True)
