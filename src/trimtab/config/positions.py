"""How a model knows where a token is: the kinds there are, and what each of them does to a model.

Each kind is a record whose class answers what the rest of the project asks of it: exports, decoding and the checks of a
recipe ask the record, never its name. `model/positions/` computes what the records describe.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, assert_never, get_args

EncoderPositions = Literal["sinusoidal", "learned", "rotary", "t5"]
"""Kinds from which an encoder can tell the order of its tokens."""
PositionKind = EncoderPositions | Literal["alibi", "none"]
"""All kinds, as a recipe names them."""

PLAIN_THETA = 10000.0


@dataclass(frozen=True, slots=True)
class Sinusoidal:
    """Sines and cosines that are added to the embeddings (arXiv 1706.03762, section 3.5)."""

    kind: ClassVar = "sinusoidal"
    adds_vectors: ClassVar = True
    """Whether a vector is added to the embedding of each token."""
    is_trained: ClassVar = False
    """Whether it has weights."""
    rotates: ClassVar = False
    """Whether queries and keys are rotated, pair by pair, which needs heads of an even size."""
    has_bias: ClassVar = False
    """Whether something is added to the scores of attention, which not every kernel and export can do."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A trained vector for each position, added to the embeddings."""

    kind: ClassVar = "learned"
    adds_vectors: ClassVar = True
    is_trained: ClassVar = True
    rotates: ClassVar = False
    has_bias: ClassVar = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rotary wavelengths made longer for longer texts; see `config.rope_scaling.RopeScaling`."""

    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_positions: int


@dataclass(frozen=True, slots=True)
class Rotary:
    """Queries and keys rotated by an angle that grows with the position (RoFormer, arXiv 2104.09864)."""

    theta: float = PLAIN_THETA
    """The wavelengths run from 2π to nearly 2π times this."""
    scaling: Stretch | None = None
    """How they are stretched for longer texts; None for not at all."""
    kind: ClassVar = "rotary"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = True
    has_bias: ClassVar = False


@dataclass(frozen=True, slots=True)
class Alibi:
    """A penalty on the scores of attention that grows with the distance (ALiBi, arXiv 2108.12409). It is the same in
    both directions, so that an encoder could not tell a sentence from its reverse."""

    kind: ClassVar = "alibi"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = False
    has_bias: ClassVar = True


@dataclass(frozen=True, slots=True)
class RelativeBias:
    """A trained number for each head and distance, added to the scores of attention (T5, arXiv 1910.10683, section
    2.1). Far distances share one; in an encoder each direction has its own."""

    buckets: ClassVar = 32
    """Of distances; each head has a number for each."""
    kind: ClassVar = "t5"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = True
    rotates: ClassVar = False
    has_bias: ClassVar = True


@dataclass(frozen=True, slots=True)
class NoPositions:
    """Nothing: a causal decoder learns the order from how many tokens it sees (arXiv 2203.16634)."""

    kind: ClassVar = "none"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = False
    has_bias: ClassVar = False


PositionSettings = Sinusoidal | Learned | Rotary | Alibi | RelativeBias | NoPositions


def position_settings(
    kind: PositionKind, *, theta: float = PLAIN_THETA, scaling: Stretch | None = None
) -> PositionSettings:
    """The record of a kind; `theta` and `scaling` are for rotary positions."""
    match kind:
        case "sinusoidal":
            return Sinusoidal()
        case "learned":
            return Learned()
        case "rotary":
            return Rotary(theta, scaling)
        case "alibi":
            return Alibi()
        case "t5":
            return RelativeBias()
        case "none":
            return NoPositions()
        case _:
            assert_never(kind)


KINDS: tuple[type[PositionSettings], ...] = get_args(PositionSettings)
