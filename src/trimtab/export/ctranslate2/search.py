"""The trainer's beam search, computed by CTranslate2's.

Both follow the same hypotheses: of the likeliest `2 * beam` continuations those among the first `beam` that end are
finished, and the likeliest `beam` that do not end continue. They differ in when a row is done. The library stops after
a number of finished ones, and gives what is open after a number of steps; the trainer continues until no open
hypothesis can win, and lets nothing but the end symbol follow at the limit. So rows are searched for a few steps, with
all that ended and all that is open given back; what is not settled by these is searched again for more.

Symbols that are never written are passed to the library as further ends, and what ends with one is left out. Its own
way of suppressing them would take them out of the softmax too, so that the others gain and another hypothesis may win.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.export.ctranslate2.search_end import Seen, Wanted, Written

SCORED_TOKENS = 4096
"""Tokens of one batch that is scored, padding included."""
STAGES = ((1.25, 5), (1.6, 8))
"""Steps of the first tries, for each source token and besides; the last one goes to the limit."""
SUMS = 1e-6
"""In place of a length penalty of 0, for which the library stops at the first end."""


@dataclass(slots=True)
class _Row:
    """A row that is being searched."""

    number: int
    pieces: list[str]
    capacity: int
    """Pieces that its translation may have at most, the end symbol not counted."""
    found: list[Written]
    """What may be among the best."""

    def steps(self, stage: int) -> int:
        if stage == len(STAGES):
            return self.capacity
        share, besides = STAGES[stage]
        return max(1, min(self.capacity, math.ceil(share * (len(self.pieces) + 1)) + besides))


class Searcher:
    """Searches with a `ctranslate2.Translator`."""

    def __init__(self, translator: Any, *, end: str, never: Sequence[str]) -> None:
        self.translator, self.end, self.never = translator, end, list(never)

    def search(
        self, source: Sequence[list[str]], *, limits: Sequence[int], wanted: Wanted
    ) -> list[list[Written]]:
        """At most `wanted.n` translations for each row of pieces without the end symbol, the best first. `limits` count
        the end symbol."""
        rows = [
            _Row(number, pieces, limit - 1, [])
            for number, (pieces, limit) in enumerate(zip(source, limits, strict=True))
        ]
        for stage in range(len(STAGES)):
            for group, steps in _groups([row for row in rows if not row.found], stage):
                for row, seen in zip(group, self._run(group, steps, wanted), strict=True):
                    row.found = wanted.finished(seen, capacity=row.capacity)
        for group, capacity in _groups([row for row in rows if not row.found], len(STAGES)):
            for row, few in zip(group, self._at_the_limit(group, capacity, wanted), strict=True):
                row.found = few
        return self._scored(rows, wanted)

    def _at_the_limit(self, rows: list[_Row], capacity: int, wanted: Wanted) -> list[list[Written]]:
        """What may be among the best of rows with so much room: all that ended, and all that may end with the limit.

        Where a hypothesis ends with a step, the library does not tell the one that takes its place. So what is open
        when the room is full comes from two searches: that which stops there, and one of a step more, in which these
        continue.
        """
        nothing = Seen([], [], -math.inf)
        first = self._run(rows, capacity, wanted) if capacity else [nothing for _ in rows]
        if wanted.beam == 1 and capacity:
            return [wanted.at_the_limit(seen.ended, seen.still_open) for seen in first]
        second = self._run(rows, capacity + 1, wanted)
        return [
            wanted.at_the_limit(
                longer.ended, [*shorter.still_open, *(each.without_its_last() for each in longer.still_open)]
            )
            for shorter, longer in zip(first, second, strict=True)
        ]

    def _run(self, rows: list[_Row], steps: int, wanted: Wanted) -> list[Seen]:
        if wanted.beam == 1:
            # The likeliest is the same whatever the softmax is over.
            own: dict[str, Any] = {"suppress_sequences": [[piece] for piece in self.never]}
        else:
            most = wanted.beam * steps
            own = {"patience": steps, "num_hypotheses": most, "end_token": [self.end, *self.never]}
        results = self.translator.translate_batch(
            [row.pieces for row in rows],
            beam_size=wanted.beam,
            length_penalty=wanted.length_penalty or SUMS,
            max_decoding_length=steps,
            min_decoding_length=0,
            max_input_length=0,
            return_end_token=True,
            return_scores=True,
            **own,
        )
        return [self._seen(result, wanted, steps=steps) for result in results]

    def _seen(self, result: Any, wanted: Wanted, *, steps: int) -> Seen:
        ended: list[Written] = []
        still_open: list[Written] = []
        newest: list[float] = []
        ends = {self.end, *self.never}
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            total = score * len(pieces) ** (wanted.length_penalty or SUMS)
            if len(pieces) == steps:
                newest.append(total)
            # Where most continuations end, too few are left, and the library continues after an end.
            if not ends.isdisjoint(pieces[:-1]):
                continue
            if pieces[-1] == self.end:
                # A greedy search has suppressed what is never written, which raised the scores.
                ended.append(Written(pieces[:-1], total, is_whole=wanted.beam > 1))
            elif pieces[-1] not in ends:
                still_open.append(Written(pieces, total, is_whole=False))
        return Seen(ended, still_open, min(newest, default=-math.inf))

    def _scored(self, rows: list[_Row], wanted: Wanted) -> list[list[Written]]:
        """The best of each row; what was cut at the limit is scored again, with its end symbol."""
        flat = [(row, place) for row in rows for place, each in enumerate(row.found) if not each.is_whole]
        scores = self.translator.score_batch(
            [row.pieces for row, _ in flat],
            [row.found[place].pieces for row, place in flat],
            max_batch_size=SCORED_TOKENS,
            batch_type="tokens",
            max_input_length=0,
        )
        for (row, place), found in zip(flat, scores, strict=True):
            row.found[place] = Written(row.found[place].pieces, sum(found.log_probs))
        return [wanted.best(row.found) for row in rows]


def _groups(rows: list[_Row], stage: int) -> Iterator[tuple[list[_Row], int]]:
    """Rows that are searched together, with their steps: no fewer than each needs, no more than each has room for."""
    group: list[_Row] = []
    for row in sorted(rows, key=lambda row: (row.steps(stage), row.capacity)):
        if group and row.steps(stage) > min(each.capacity for each in group):
            yield group, group[-1].steps(stage)
            group = []
        group.append(row)
    if group:
        yield group, group[-1].steps(stage)
