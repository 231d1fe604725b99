"""What travels between the stages: ragged rows of ids, windows, packs, losses, step reports, and the protocols.

Words: a *window* is what one step consumes; a *pack* is one micro-batch of it, two flat streams of tokens (source and
target) without padding; a *segment* is one sentence inside a stream; a *target* is a token that counts in the loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor

IGNORE = -100
"""The target of a slot that does not count in the loss."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: np.ndarray
    offsets: np.ndarray
    """int64, one more than there are rows, beginning with 0."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """Rows of plain ids, joined."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        values = np.empty(int(offsets[-1]), np.int32)
        for row, start in zip(rows, offsets, strict=False):
            values[start : start + len(row)] = row
        return cls(values, offsets)

    @classmethod
    def joined(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """The rows of all parts, one after another."""
        if not parts:
            return cls(np.empty(0, np.int32), np.zeros(1, np.int64))
        shifts = np.cumsum([0] + [part.offsets[-1] for part in parts])
        offsets = [np.zeros(1, np.int64)] + [
            part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)
        ]
        return cls(np.concatenate([part.values for part in parts]), np.concatenate(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Length of each row, int64."""
        return np.diff(self.offsets)

    def row(self, index: int) -> np.ndarray:
        """Row `index`, a view."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def between(self, start: int, stop: int) -> "Ragged":
        """Rows start to stop, a view of the values."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def take(self, order: np.ndarray) -> "Ragged":
        """The rows in another order (or some of them)."""
        lengths = self.lengths[order]
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(self.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[places], offsets)


@dataclass(frozen=True, slots=True)
class DroppedExample:
    """An example that is not trained on, and why."""

    corpus: int
    line: int
    """Counted from 0."""
    reason: str


@dataclass(frozen=True, slots=True)
class Window:
    """The examples that one step consumes; fixed by `tokens_per_step`, the seed and the data alone."""

    source: Ragged
    """Source ids, end symbol included."""
    target: Ragged
    """Target ids, end symbol included."""
    corpus: np.ndarray
    """For each example, the number of its corpus, int32."""
    line: np.ndarray
    """For each example, its line in the corpus, counted from 0, int64."""
    position: int
    """Where in the endless stream of examples the next window begins."""
    dropped: tuple[DroppedExample, ...] = ()
    """What was passed over between where the window before ended and `position`."""
    prompt: np.ndarray | None = None
    """For each example, how many leading target tokens the model is given and do not count, int32; None for none."""

    @property
    def num_targets(self) -> int:
        """Target tokens that count in the loss, of the whole window."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))

    @property
    def num_tokens(self) -> int:
        """Real source and target tokens."""
        return int(self.source.offsets[-1] + self.target.offsets[-1])


@dataclass(frozen=True, slots=True)
class Stream:
    """One flat side of a pack, with the boundaries of its segments."""

    ids: Int[Tensor, "tokens"]
    positions: Int[Tensor, "tokens"]
    """Place of each token in its segment, from 0."""
    segments: Int[Tensor, "tokens"]
    """Number of the segment that each token belongs to."""
    boundaries: Int32[Tensor, "segments_and_one"]
    """Segment i is `ids[boundaries[i]:boundaries[i + 1]]`; repeated boundaries are empty segments."""
    longest: int
    """No segment is longer; fixed for a whole run where shapes are fixed."""
    prefix: Int32[Tensor, "segments"] | None = None
    """How many leading tokens of each segment are given and may see each other in both directions; None for none."""

    def to(self, device: torch.device) -> "Stream":
        """The same stream on a device."""
        move = {"device": device, "non_blocking": True}
        return Stream(
            self.ids.to(**move),
            self.positions.to(**move),
            self.segments.to(**move),
            self.boundaries.to(**move),
            self.longest,
            None if self.prefix is None else self.prefix.to(**move),
        )

    def pin(self) -> "Stream":
        """The same stream in page-locked memory."""
        return Stream(
            self.ids.pin_memory(),
            self.positions.pin_memory(),
            self.segments.pin_memory(),
            self.boundaries.pin_memory(),
            self.longest,
            None if self.prefix is None else self.prefix.pin_memory(),
        )


@dataclass(frozen=True, slots=True)
class Pack:
    """One micro-batch: source and target streams with the same number of segments."""

    source: Stream
    target: Stream
    """The decoder's input: the start symbol, then the target without its last token."""
    labels: Int[Tensor, "target_tokens"]
    """What the decoder must predict; IGNORE in slots that do not count."""
    num_segments: int
    """Real segments; those after them fill the tail."""
    num_targets: int
    num_tokens: int
    """Real source and target tokens."""

    def to(self, device: torch.device) -> "Pack":
        """The same pack on a device."""
        return Pack(
            self.source.to(device),
            self.target.to(device),
            self.labels.to(device, non_blocking=True),
            self.num_segments,
            self.num_targets,
            self.num_tokens,
        )

    def pin(self) -> "Pack":
        """The same pack in page-locked memory, for copies that run beside the computation."""
        return Pack(
            self.source.pin(),
            self.target.pin(),
            self.labels.pin_memory(),
            self.num_segments,
            self.num_targets,
            self.num_tokens,
        )


@dataclass(frozen=True, slots=True)
class LossOutput:
    """A summed loss; only the step knows how many targets the whole window has."""

    objective: Float[Tensor, ""]
    """What is minimised, summed over targets: with smoothing and auxiliary terms. Carries the gradient."""
    loss: Float[Tensor, ""]
    """Nats, summed over targets, without smoothing or auxiliary terms. No gradient."""
    truncated: Float[Tensor, ""] | None = None
    """How many targets were left out of the objective; None where nothing is ever left out."""


class Refusal(IntEnum):
    """Why a step was not applied."""

    NONE = 0
    NOT_FINITE = 1
    LOSS_SPIKE = 2
    GRADIENT_SPIKE = 3
    OVERFLOW = 4
    """Gradients were too large for fp16 with the loss scale at hand, which then halves: no fault of the run."""
    MASKED = 5
    """The window stands near one that spoilt the run, which went back and leaves it out."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one step did, still on the device; `metrics.jsonl` says the same in plain numbers."""

    loss: Float[Tensor, ""]
    """Nats per target token."""
    objective: Float[Tensor, ""]
    grad_norm: Float[Tensor, ""]
    clipped: Float[Tensor, ""]
    """1 where the gradient was scaled down, else 0."""
    refusal: Int[Tensor, ""]
    """Why the verdict was not to move the weights, as a number of `Refusal`; 0 where they were moved."""
    learning_rate: float
    num_targets: int
    num_tokens: int
    truncated: Float[Tensor, ""] | None = None
    """How many targets were left out of the objective."""

    @property
    def skipped(self) -> Float[Tensor, ""]:
        """1 where the weights were not moved, else 0."""
        return (self.refusal > 0).float()


@dataclass(slots=True)
class TrainState:
    """Where a run is, in plain numbers; together with weights and moments it is all that resume needs."""

    step: int = 0
    """Windows consumed, skipped ones too."""
    updates: int = 0
    """Changes of the weights."""
    position: int = 0
    """Where in the endless stream of examples the next window begins."""
    target_tokens: int = 0
    tokens: int = 0
    """Real source and target tokens consumed."""
    seconds: float = 0.0
    """Time spent training, over all parts of an interrupted run."""
    clips: int = 0
    skips: int = 0
    best: dict[str, Any] = field(default_factory=dict)
    """`{set, metric, value, step, since}`: the best evaluation so far, and how many have passed since."""
    evaluated: int = 0
    """The step of the newest evaluation."""
    data: dict[str, Any] = field(default_factory=dict)
    """The data ledger's counts up to `position`."""
    guard: dict[str, Any] = field(default_factory=dict)
    """What the step keeps besides the optimizer's moments, such as a loss scale; and what was refused and left out."""


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back; ids of one encoding end with the end symbol."""

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        ...

    @property
    def pad(self) -> int:
        """Id of the padding symbol."""
        ...

    @property
    def unknown(self) -> int:
        """Id of what has no other."""
        ...

    @property
    def start(self) -> int:
        """Id that a decoder is fed first."""
        ...

    @property
    def end(self) -> int:
        """Id that ends a text."""
        ...

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, end symbol included."""
        ...

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; special symbols are left out."""
        ...


@runtime_checkable
class DecoderSession(Protocol):
    """A batch of source rows being translated, `width` hypotheses each, with cached keys and values."""

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        ...

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i goes on from what was hypothesis `parents[i, j]` of the same row."""
        ...

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only, in this order."""
        ...


@runtime_checkable
class FeedsAtOnce(Protocol):
    """A session whose hypotheses can begin with tokens that are given."""

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what each row begins with, before any step; its first `skipped` are no tokens."""
        ...


@runtime_checkable
class Translates(Protocol):
    """A model that can open a decoding session."""

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> DecoderSession:
        """Encodes the source and makes room for `max_length` steps of `rows` × `width` hypotheses."""
        ...


@runtime_checkable
class SearchesItself(Protocol):
    """A model whose library searches by itself and gives no scores of single steps."""

    def search(
        self,
        source: Ragged,
        *,
        limits: Sequence[int],
        beam: int,
        n: int,
        length_penalty: float,
        exact: bool,
    ) -> list[list[tuple[list[int], float]]]:
        """At most `n` translations of each row of source ids, end symbol included, the best first: target ids without
        the end symbol, and the summed natural log-probability with it. The search is that of `decode.beam`, or of
        `decode.greedy` for a beam of 1; `exact` as its `stop`."""
        ...
