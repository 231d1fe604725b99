"""Beam search: keeps the likeliest hypotheses of each row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from trimtab.decode.constraints import Constraints
from trimtab.decode.decode_loop import decode_loop
from trimtab.decode.finished import BestFinished, Ended, FewFinished, Finished, Found
from trimtab.decode.hypothesis import Hypothesis, Symbols
from trimtab.decode.next_scores import OUT_OF_REACH, next_scores
from trimtab.decode.search import Search
from trimtab.types import Stream, Translates


@torch.inference_mode()
def beam_search(
    model: Translates,
    source: Stream,
    *,
    limits: Sequence[int],
    symbols: Symbols,
    search: Search,
    constraints: Constraints | None = None,
) -> list[Hypothesis]:
    """The best hypothesis found for each segment of the source, by normalised score.

    At every step the likeliest `2 * beam` continuations of a row are looked at: of the first `beam` of them, those
    that end are finished; the likeliest `beam` that do not end continue. (At most `beam` of them can end, one for each
    hypothesis, so there are always enough.)

    With `stop: exact` a row is done when no open hypothesis can beat the best finished one. A log-probability is at
    most 0, so a hypothesis with the score s never has a higher one, and no length is above the limit: for a length
    penalty a >= 0 its normalised score is at most s / limit ** a, and the answer is the one that continuing to the
    limit would give.

    `limits` as for `greedy`. Raises RunFailed if the model's scores are NaN.
    """
    if not limits:
        return []
    finished = BestFinished.begin(len(limits), max(limits), end=symbols.end, device=source.ids.device)
    paths = _BeamPaths.begin(
        limits, symbols=symbols, search=search, finished=finished, constraints=constraints
    )
    session = model.open_session(source, rows=len(limits), width=search.beam, max_length=max(limits))
    return decode_loop(session, paths, num_steps=max(limits))


@torch.inference_mode()
def n_best_beam_search(
    model: Translates,
    source: Stream,
    *,
    limits: Sequence[int],
    symbols: Symbols,
    search: Search,
    n: int,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """The best `n` hypotheses that the same search finishes for each segment, the best first; fewer where it found
    fewer. With `stop: exact` it continues until no open hypothesis can beat the last of them."""
    if not limits:
        return []
    device = source.ids.device
    finished = FewFinished.begin(len(limits), max(limits), few=n, end=symbols.end, device=device)
    paths = _BeamPaths.begin(
        limits, symbols=symbols, search=search, finished=finished, constraints=constraints
    )
    session = model.open_session(source, rows=len(limits), width=search.beam, max_length=max(limits))
    return decode_loop(session, paths, num_steps=max(limits))


@dataclass(slots=True)
class _BeamPaths(Generic[Found]):
    """The open hypotheses of each row of the batch, and the finished ones."""

    symbols: Symbols
    search: Search
    limits: list[int]
    device_limits: Int[Tensor, "rows"]
    divisors: Num[Tensor, "rows"]
    """Of the score of a hypothesis as long as its limit."""
    last: Int[Tensor, "rows beam"]
    ids: Int[Tensor, "rows beam length"]
    scores: Float[Tensor, "rows beam"]
    """Of the open hypotheses, best first; minus infinity where there are fewer of them than `beam`."""
    num_finished: Int[Tensor, "rows"]
    """Counted where enough of them end a search."""
    done: Bool[Tensor, "rows"]
    broken: Bool[Tensor, "rows"]
    finished: Finished[Found]
    constraints: Constraints | None

    @classmethod
    def begin(
        cls,
        limits: Sequence[int],
        *,
        symbols: Symbols,
        search: Search,
        finished: Finished[Found],
        constraints: Constraints | None,
    ) -> "_BeamPaths[Found]":
        rows, beam, length = len(limits), search.beam, max(limits)
        device = finished.to_beat.device
        device_limits = torch.tensor(limits, device=device)
        # All hypotheses of a row begin alike; only the first counts, or the beam would hold one sentence many times.
        scores = torch.full((rows, beam), OUT_OF_REACH, device=device)
        scores[:, 0] = 0.0
        return cls(
            symbols=symbols,
            search=search,
            limits=list(limits),
            device_limits=device_limits,
            divisors=device_limits**search.length_penalty,
            last=torch.full((rows, beam), symbols.start, device=device),
            ids=torch.full((rows, beam, length), symbols.end, device=device),
            scores=scores,
            num_finished=torch.zeros(rows, dtype=torch.long, device=device),
            done=torch.zeros(rows, dtype=torch.bool, device=device),
            broken=torch.zeros(rows, dtype=torch.bool, device=device),
            finished=finished,
            constraints=constraints,
        )

    def tokens(self) -> Int[Tensor, "rows beam"]:
        return self.last

    def extend(self, logits: Float[Tensor, "rows beam vocabulary"], *, step: int) -> Int[Tensor, "rows beam"]:
        beam, vocabulary = self.search.beam, logits.shape[-1]
        at_limit = self.device_limits <= step + 1 if min(self.limits) <= step + 1 else None
        scores = next_scores(logits, symbols=self.symbols, at_limit=at_limit)
        if self.constraints is not None:
            scores = self.constraints.apply(scores, logits=logits, written=self.ids[:, :, :step])
        totals = scores.add_(
            self.scores[..., None]
        )  # in place: the largest tensor of a step, and nobody else's
        top, places = totals.flatten(1).topk(min(2 * beam, beam * vocabulary))
        self.broken = self.broken | top[:, 0].isnan()  # NaN counts as the largest number
        parents, tokens = places // vocabulary, places % vocabulary
        ended = tokens == self.symbols.end
        self._finish(top.where(ended, OUT_OF_REACH)[:, :beam], parents=parents, num_ids=step)
        self.scores, chosen = top.masked_fill(ended, OUT_OF_REACH).topk(beam)
        parents, self.last = parents.gather(1, chosen), tokens.gather(1, chosen)
        self.ids = self.ids.gather(1, parents[..., None].expand_as(self.ids))
        self.ids[:, :, step] = self.last
        self._mark_done()
        return parents

    def _finish(
        self, scores: Float[Tensor, "rows beam"], *, parents: Int[Tensor, "rows candidates"], num_ids: int
    ) -> None:
        """Keeps the best of what ended with this step; minus infinity is what did not."""
        ended = Ended(
            scores=scores,
            parents=parents,
            ids=self.ids,
            num_ids=num_ids,
            length_penalty=self.search.length_penalty,
        )
        self.finished.add(ended, done=self.done)
        if self.search.stop == "enough":
            self.num_finished = self.num_finished + (scores > OUT_OF_REACH).sum(1)

    def _mark_done(self) -> None:
        # At the limit every hypothesis has ended or is out of reach, so the bound is minus infinity and closes the row.
        bound = self.scores[:, 0] / self.divisors
        self.done = self.done | (self.finished.to_beat >= bound)
        if self.search.stop == "enough":
            self.done = self.done | (self.num_finished >= self.search.beam)

    def keep(self, rows: Sequence[int]) -> None:
        self.limits = [self.limits[row] for row in rows]
        index = torch.tensor(rows, device=self.done.device)
        self.finished.keep(index)
        if self.constraints is not None:
            self.constraints.keep(index)
        for name in ("device_limits", "divisors", "last", "ids", "scores", "num_finished", "done", "broken"):
            setattr(self, name, getattr(self, name)[index])

    def hypotheses(self, rows: Sequence[int]) -> list[Found]:
        return self.finished.found(rows)
