"""Generates continuations of several prompts, with several samples each, one token at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from trimtab.decode.decode_loop import SHRINK_BELOW
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.next_scores import next_scores
from trimtab.decode.sample import chosen_by
from trimtab.decode.sampling import Sampling, allowed_probabilities
from trimtab.errors import RunFailed


@runtime_checkable
class OpenPrompts(Protocol):
    """A batch of prompts that continue, `width` texts each; see `types.DecoderSession` and `types.FeedsAtOnce`."""

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what each row begins with, before any step; its first `skipped` are no tokens."""
        ...

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each text and gives the float32 logits of the next one."""
        ...

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        ...


@runtime_checkable
class Continues(Protocol):
    """A model that continues from what it has read."""

    def open_prompts(self, *, rows: int, width: int, max_length: int) -> OpenPrompts:
        """Makes room for `rows` prompts with `width` texts each, `max_length` tokens with the prompt."""
        ...


@dataclass(frozen=True, slots=True)
class SampledRows:
    """How symbols are drawn, and the random numbers for it."""

    sampling: Sampling
    uniforms: Float64[Tensor, "rows samples length"]
    """Those of `uniform_numbers`, one for each symbol."""


@dataclass(frozen=True, slots=True)
class Written:
    """One symbol of one text."""

    row: int
    sample: int
    id: int
    log_probability: float
    """Natural, by the model itself."""


@torch.inference_mode()
def continuations(
    model: Continues,
    prompts: Sequence[Sequence[int]],
    *,
    limits: Sequence[int],
    symbols: Symbols,
    sampled: SampledRows | None = None,
    device: torch.device,
) -> Iterator[list[Written]]:
    """The symbols of all texts, step by step; the end symbol is given too and ends its text.

    Each prompt holds at least the start symbol. `limits` are the most symbols of each row, at least 1; nothing is
    forced there. Without a drawing there is one text a row, of the likeliest symbol each time. Raises RunFailed if
    the model's scores are NaN.
    """
    if not prompts:
        return
    width = 1 if sampled is None else sampled.uniforms.shape[1]
    longest = max(map(len, prompts))
    session = model.open_prompts(rows=len(prompts), width=width, max_length=longest + max(limits) - 1)
    tokens = _fed(session, prompts, symbols.start, device)[:, None].expand(-1, width)
    texts = _Texts(list(range(len(prompts))), list(limits), tokens, torch.ones_like(tokens, dtype=torch.bool))
    for step in range(max(limits)):
        written = texts.extend(session.step(texts.last), step=step, symbols=symbols, sampled=sampled)
        yield written
        going_on = texts.going_on(step + 1)
        if not going_on:
            return
        if len(going_on) < len(texts.numbers) and (
            len(going_on) <= SHRINK_BELOW * len(texts.numbers) or texts.at_limit(step + 1)
        ):
            index = torch.tensor(going_on, device=device)
            session.keep(index)
            texts = texts.kept(going_on, index)


def _fed(
    session: OpenPrompts, prompts: Sequence[Sequence[int]], filler: int, device: torch.device
) -> Int[Tensor, "rows"]:
    """The last symbol of each prompt, the others fed at once."""
    longest = max(map(len, prompts))
    placed = torch.tensor([[filler] * (longest - len(row)) + list(row) for row in prompts], device=device)
    if longest > 1:
        skipped = torch.tensor([longest - len(row) for row in prompts], device=device)
        session.feed(placed[:, :-1], skipped)
    return placed[:, -1]


@dataclass(slots=True)
class _Texts:
    """The rows of the batch that continue."""

    numbers: list[int]
    """Which prompt each row belongs to."""
    limits: list[int]
    last: Int[Tensor, "rows samples"]
    open: Bool[Tensor, "rows samples"]

    def extend(
        self,
        logits: Float[Tensor, "rows samples vocabulary"],
        *,
        step: int,
        symbols: Symbols,
        sampled: SampledRows | None,
    ) -> list[Written]:
        """Chooses the next symbol of each text; the one place where the device is waited for."""
        scores = next_scores(logits, symbols=symbols)
        if sampled is None:
            choice = scores.argmax(-1)
        else:
            numbers = sampled.uniforms[self.numbers, :, step]
            choice = chosen_by(numbers, allowed_probabilities(scores, sampled.sampling))
            choice = choice.clamp(max=scores.shape[-1] - 1)
        own = scores.gather(-1, choice[..., None])[..., 0]
        self._check(scores.isnan().any(-1) & self.open, step=step)
        was_open = self.open.tolist()
        self.last = torch.where(self.open, choice, symbols.end)
        self.open = self.last != symbols.end
        rows = zip(self.numbers, was_open, self.last.tolist(), own.tolist(), strict=True)
        return [
            Written(number, sample, ids[sample], probabilities[sample])
            for number, still, ids, probabilities in rows
            for sample in range(len(ids))
            if still[sample]
        ]

    def going_on(self, length: int) -> list[int]:
        """The places of rows with a text that has not ended, of those that may be longer than `length`."""
        still = self.open.any(-1).tolist()
        return [place for place, limit in enumerate(self.limits) if limit > length and still[place]]

    def at_limit(self, length: int) -> bool:
        """Whether a row may not grow any more: it must not be fed on, where no position is left."""
        return min(self.limits) <= length

    def kept(self, places: list[int], index: Int[Tensor, "kept"]) -> "_Texts":
        """These rows only."""
        return _Texts(
            [self.numbers[place] for place in places],
            [self.limits[place] for place in places],
            self.last[index],
            self.open[index],
        )

    def _check(self, broken: Bool[Tensor, "rows samples"], *, step: int) -> None:
        if broken.any():
            raise RunFailed(
                f"generation stopped: the model's scores are NaN at token {step + 1}\n"
                "  fix     use a checkpoint from before the loss became NaN; or generate in fp32, where "
                "half precision overflows"
            )
