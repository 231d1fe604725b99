"""Samples translations token by token from the model's distribution, each with its own random numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from trimtab.decode.constraints import Constraints
from trimtab.decode.decode_loop import decode_loop
from trimtab.decode.hypothesis import Hypothesis, Symbols, normalise
from trimtab.decode.next_scores import next_scores
from trimtab.decode.sampling import Sampling, allowed_probabilities
from trimtab.decode.search import Search
from trimtab.types import Stream, Translates

_STEPS_OF_ONE = 2**40
"""Probabilities are counted in whole steps of this size, so that their sums are the same in any order."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Which random numbers a row is drawn by; the same numbers whatever batch it is in."""

    line: int
    """Number of the line in the input, from 0."""
    piece: int = 0
    """Number of the piece of a line that was cut, from 0."""


@torch.inference_mode()
def sample(
    model: Translates,
    source: Stream,
    *,
    limits: Sequence[int],
    symbols: Symbols,
    search: Search,
    uniforms: Float64[Tensor, "rows samples length"],
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """The drawn translations of each segment of the source, in the order of their random numbers.

    Their scores are the model's own log-probabilities, without temperature and whatever else shapes the drawing.
    `uniforms` are those of `uniform_numbers`, one for each symbol; `limits` as for `greedy`. Raises RunFailed if
    the model's scores are NaN.
    """
    if not limits:
        return []
    assert search.sampling is not None
    paths = _SamplePaths.begin(
        limits, symbols=symbols, search=search, uniforms=uniforms, constraints=constraints
    )
    width = uniforms.shape[1]
    session = model.open_session(source, rows=len(limits), width=width, max_length=max(limits))
    return decode_loop(session, paths, num_steps=max(limits))


def uniform_numbers(
    draws: Sequence[Draw], *, seed: int, samples: int, length: int, first_sample: int = 0
) -> Float64[Tensor, "rows samples length"]:
    """Numbers in [0, 1), each a function of the seed, the line, the piece, the sample and the place alone. The samples
    are numbered from `first_sample` on."""
    numbers = np.empty((len(draws), samples, length))
    for row, draw in enumerate(draws):
        for sample in range(samples):
            generator = np.random.default_rng([seed, draw.line, draw.piece, first_sample + sample])
            numbers[row, sample] = generator.random(length)
    return torch.from_numpy(numbers)


def chosen_by(
    uniform: Float64[Tensor, "rows width"], probabilities: Float64[Tensor, "rows width vocabulary"]
) -> Int[Tensor, "rows width"]:
    """The symbol in whose stretch of the unit interval the number falls, the stretches in the order of the ids.

    A symbol of probability 0 has no stretch and is never chosen.
    """
    ends = (probabilities.nan_to_num() * _STEPS_OF_ONE).round().long().cumsum(-1)
    places = (uniform * ends[..., -1]).long().clamp(max=ends[..., -1] - 1)
    return torch.searchsorted(ends, places[..., None], right=True)[..., 0]


@dataclass(slots=True)
class _SamplePaths:
    """The samples of each row of the batch."""

    symbols: Symbols
    sampling: Sampling
    length_penalty: float
    limits: list[int]
    device_limits: Int[Tensor, "rows"]
    uniforms: Float64[Tensor, "rows samples length"]
    last: Int[Tensor, "rows samples"]
    ids: Int[Tensor, "rows samples length"]
    """Filled with the end symbol behind each path."""
    scores: Float[Tensor, "rows samples"]
    done: Bool[Tensor, "rows"]
    broken: Bool[Tensor, "rows"]
    constraints: Constraints | None

    @classmethod
    def begin(
        cls,
        limits: Sequence[int],
        *,
        symbols: Symbols,
        search: Search,
        uniforms: Float64[Tensor, "rows samples length"],
        constraints: Constraints | None,
    ) -> "_SamplePaths":
        assert search.sampling is not None
        rows, samples, device = len(limits), uniforms.shape[1], uniforms.device
        return cls(
            symbols=symbols,
            sampling=search.sampling,
            length_penalty=search.length_penalty,
            limits=list(limits),
            device_limits=torch.tensor(limits, device=device),
            uniforms=uniforms,
            last=torch.full((rows, samples), symbols.start, device=device),
            ids=torch.full((rows, samples, max(limits)), symbols.end, device=device),
            scores=torch.zeros((rows, samples), device=device),
            done=torch.zeros(rows, dtype=torch.bool, device=device),
            broken=torch.zeros(rows, dtype=torch.bool, device=device),
            constraints=constraints,
        )

    def tokens(self) -> Int[Tensor, "rows samples"]:
        return self.last

    def extend(self, logits: Float[Tensor, "rows samples vocabulary"], *, step: int) -> None:
        at_limit = self.device_limits <= step + 1 if min(self.limits) <= step + 1 else None
        scores = next_scores(logits, symbols=self.symbols, at_limit=at_limit)
        if self.constraints is not None:
            scores = self.constraints.apply(scores, logits=logits, written=self.ids[:, :, :step])
        self.broken = self.broken | scores.isnan().any((1, 2))
        choice = chosen_by(self.uniforms[:, :, step], allowed_probabilities(scores, self.sampling))
        choice = choice.clamp(max=scores.shape[-1] - 1)
        if at_limit is not None:  # said again, for a model that gives the end symbol a probability of zero
            choice = choice.masked_fill(at_limit[:, None], self.symbols.end)
        ended = (self.last == self.symbols.end) if step else torch.zeros_like(self.last, dtype=torch.bool)
        own = scores.gather(-1, choice[..., None])[..., 0]
        self.scores = torch.where(ended, self.scores, self.scores + own)
        self.last = torch.where(ended, self.symbols.end, choice)
        self.ids[:, :, step] = self.last
        self.done = (self.last == self.symbols.end).all(1)

    def keep(self, rows: Sequence[int]) -> None:
        self.limits = [self.limits[row] for row in rows]
        index = torch.tensor(rows, device=self.done.device)
        if self.constraints is not None:
            self.constraints.keep(index)
        for name in ("device_limits", "uniforms", "last", "ids", "scores", "done", "broken"):
            setattr(self, name, getattr(self, name)[index])

    def hypotheses(self, rows: Sequence[int]) -> list[list[Hypothesis]]:
        index = torch.tensor(rows, device=self.done.device, dtype=torch.long)
        pairs = zip(self.ids[index].tolist(), self.scores[index].tolist(), strict=True)
        return [
            [self._hypothesis(*sample) for sample in zip(ids, scores, strict=True)] for ids, scores in pairs
        ]

    def _hypothesis(self, ids: list[int], score: float) -> Hypothesis:
        length = ids.index(self.symbols.end) + 1
        normalised = normalise(score, length=length, length_penalty=self.length_penalty)
        return Hypothesis(ids=ids[: length - 1], score=score, normalised=normalised)
