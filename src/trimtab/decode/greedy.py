"""Greedy search: the likeliest next symbol, each time."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.decode.constraints import Constraints
from trimtab.decode.decode_loop import decode_loop
from trimtab.decode.hypothesis import Hypothesis, Symbols, normalise
from trimtab.decode.next_scores import next_scores
from trimtab.types import Stream, Translates


@torch.inference_mode()
def greedy(
    model: Translates,
    source: Stream,
    *,
    limits: Sequence[int],
    symbols: Symbols,
    length_penalty: float = 1.0,
    constraints: Constraints | None = None,
) -> list[Hypothesis]:
    """One hypothesis for each segment of the source.

    `limits` holds for each row the largest number of symbols, end symbol included, at least 1; the last one allowed
    is always the end symbol. The length penalty changes the normalised score, not the choice. Raises RunFailed if
    the model's scores are NaN.
    """
    if not limits:
        return []
    paths = _GreedyPaths.begin(
        limits, symbols=symbols, length_penalty=length_penalty, device=source.ids.device
    )
    paths.constraints = constraints
    session = model.open_session(source, rows=len(limits), width=1, max_length=max(limits))
    return decode_loop(session, paths, num_steps=max(limits))


@dataclass(slots=True)
class _GreedyPaths:
    """One path for each row of the batch."""

    symbols: Symbols
    length_penalty: float
    limits: list[int]
    device_limits: Int[Tensor, "rows"]
    last: Int[Tensor, "rows"]
    ids: Int[Tensor, "rows length"]
    """Filled with the end symbol behind each path."""
    scores: Float[Tensor, "rows"]
    done: Bool[Tensor, "rows"]
    broken: Bool[Tensor, "rows"]
    constraints: Constraints | None = None

    @classmethod
    def begin(
        cls, limits: Sequence[int], *, symbols: Symbols, length_penalty: float, device: torch.device
    ) -> "_GreedyPaths":
        rows = len(limits)
        return cls(
            symbols=symbols,
            length_penalty=length_penalty,
            limits=list(limits),
            device_limits=torch.tensor(limits, device=device),
            last=torch.full((rows,), symbols.start, device=device),
            ids=torch.full((rows, max(limits)), symbols.end, device=device),
            scores=torch.zeros(rows, device=device),
            done=torch.zeros(rows, dtype=torch.bool, device=device),
            broken=torch.zeros(rows, dtype=torch.bool, device=device),
        )

    def tokens(self) -> Int[Tensor, "rows 1"]:
        return self.last[:, None]

    def extend(self, logits: Float[Tensor, "rows 1 vocabulary"], *, step: int) -> None:
        at_limit = self.device_limits <= step + 1 if min(self.limits) <= step + 1 else None
        scores = next_scores(logits, symbols=self.symbols, at_limit=at_limit)
        if self.constraints is not None:
            scores = self.constraints.apply(scores, logits=logits, written=self.ids[:, None, :step])
        best, choice = scores[:, 0].max(-1)
        if at_limit is not None:  # said again, for a model that gives the end symbol a probability of zero
            choice = choice.masked_fill(at_limit, self.symbols.end)
        self.broken = self.broken | best.isnan()
        self.scores = torch.where(self.done, self.scores, self.scores + best)
        self.last = torch.where(self.done, self.symbols.end, choice)
        self.ids[:, step] = self.last
        self.done = self.last == self.symbols.end

    def keep(self, rows: Sequence[int]) -> None:
        self.limits = [self.limits[row] for row in rows]
        index = torch.tensor(rows, device=self.done.device)
        if self.constraints is not None:
            self.constraints.keep(index)
        for name in ("device_limits", "last", "ids", "scores", "done", "broken"):
            setattr(self, name, getattr(self, name)[index])

    def hypotheses(self, rows: Sequence[int]) -> list[Hypothesis]:
        index = torch.tensor(rows, device=self.done.device, dtype=torch.long)
        found = []
        for ids, score in zip(self.ids[index].tolist(), self.scores[index].tolist(), strict=True):
            length = ids.index(self.symbols.end) + 1
            normalised = normalise(score, length=length, length_penalty=self.length_penalty)
            found.append(Hypothesis(ids=ids[: length - 1], score=score, normalised=normalised))
        return found
