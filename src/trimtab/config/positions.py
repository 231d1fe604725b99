"""How a model knows where a token is: the kinds there are, and what each of them does to a model.

Each kind is a record that answers what the rest of the project asks of it: exports, decoding and the checks of a recipe
ask the record, never its name. `model/positions/` computes what the records describe.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

EncoderPositions = Literal[
    "sinusoidal",
    "learned",
    "rotary",
    "rotary_qkv",
    "t5",
    "shaw",
    "sinusoidal+rotary",
    "sinusoidal+rotary_qkv",
    "sinusoidal+t5",
    "sinusoidal+shaw",
    "sinusoidal+alibi",
    "learned+rotary",
    "learned+rotary_qkv",
    "learned+t5",
    "learned+shaw",
    "learned+alibi",
]
"""Kinds from which an encoder can tell the order of its tokens; `+` joins absolute positions and relative ones."""
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
    """Whether something is added to the scores of attention, which the kernels for packs cannot do."""
    in_graphs: ClassVar = True
    """Whether the graphs of other engines, such as ONNX Runtime, have a place for it."""
    tells_directions: ClassVar = True
    """Whether an encoder can tell the order of its tokens from it, not only how far they are apart."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A trained vector for each position, added to the embeddings."""

    kind: ClassVar = "learned"
    adds_vectors: ClassVar = True
    is_trained: ClassVar = True
    rotates: ClassVar = False
    has_bias: ClassVar = False
    in_graphs: ClassVar = True
    tells_directions: ClassVar = True

    def table(self, positions: int, dim: int, heads: int) -> tuple[int, int]:
        """Rows and columns of its weights, in a model of these sizes."""
        return positions, dim


@dataclass(frozen=True, slots=True)
class ScaledRope:
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
    scaling: ScaledRope | None = None
    """How they are stretched for longer texts; None for not at all."""
    kind: ClassVar = "rotary"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = True
    has_bias: ClassVar = False
    in_graphs: ClassVar = True
    tells_directions: ClassVar = True


@dataclass(frozen=True, slots=True)
class RotaryValues:
    """Rotary positions for values too: what a token takes of another is rotated by their distance (GTA, arXiv
    2310.10375, equation 6)."""

    theta: float = PLAIN_THETA
    scaling: ScaledRope | None = None
    kind: ClassVar = "rotary_qkv"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = True
    has_bias: ClassVar = False
    in_graphs: ClassVar = False
    tells_directions: ClassVar = True


@dataclass(frozen=True, slots=True)
class Alibi:
    """A penalty on the scores of attention that grows with the distance (ALiBi, arXiv 2108.12409). It is the same in
    both directions, so that an encoder could not tell a sentence from its reverse."""

    kind: ClassVar = "alibi"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = False
    has_bias: ClassVar = True
    in_graphs: ClassVar = False
    tells_directions: ClassVar = False


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
    in_graphs: ClassVar = False
    tells_directions: ClassVar = True

    def table(self, positions: int, dim: int, heads: int) -> tuple[int, int]:
        """Rows and columns of its weights, in a model of these sizes."""
        return self.buckets, heads


@dataclass(frozen=True, slots=True)
class RelativeVectors:
    """A trained vector for each distance, in each layer, added to the keys and another added to the values (Shaw et al.
    2018, arXiv 1803.02155, equations 3 and 4). Distances beyond `farthest` share one; heads share all."""

    farthest: ClassVar = 16
    """As in the paper's translators of base size (section 4.1)."""
    kind: ClassVar = "shaw"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = True
    rotates: ClassVar = False
    has_bias: ClassVar = True
    in_graphs: ClassVar = False
    tells_directions: ClassVar = True

    @classmethod
    def rows(cls, *, bidirectional: bool) -> int:
        """Vectors in each table: in a decoder no key comes after its query."""
        return 2 * cls.farthest + 1 if bidirectional else cls.farthest + 1


@dataclass(frozen=True, slots=True)
class NoPositions:
    """Nothing: a causal decoder learns the order from how many tokens it sees (arXiv 2203.16634)."""

    kind: ClassVar = "none"
    adds_vectors: ClassVar = False
    is_trained: ClassVar = False
    rotates: ClassVar = False
    has_bias: ClassVar = False
    in_graphs: ClassVar = True
    tells_directions: ClassVar = False


Absolute = Sinusoidal | Learned
Relative = Rotary | RotaryValues | Alibi | RelativeBias | RelativeVectors
InOneTable = Learned | RelativeBias
"""Kinds whose weights are one table of the model."""


@dataclass(frozen=True, slots=True)
class Combined:
    """Absolute positions in the embeddings and relative ones in attention (P-Transformer, arXiv 2212.05830)."""

    absolute: Absolute
    relative: Relative
    adds_vectors: ClassVar = True
    in_graphs: ClassVar = False

    @property
    def kind(self) -> str:
        """Both names, joined by `+`."""
        return f"{self.absolute.kind}+{self.relative.kind}"

    @property
    def is_trained(self) -> bool:
        """Whether either of them has weights."""
        return self.absolute.is_trained or self.relative.is_trained

    @property
    def tells_directions(self) -> bool:
        """Whether either of them does."""
        return self.absolute.tells_directions or self.relative.tells_directions

    @property
    def rotates(self) -> bool:
        """Whether queries and keys are rotated."""
        return self.relative.rotates

    @property
    def has_bias(self) -> bool:
        """Whether something is added to the scores of attention."""
        return self.relative.has_bias


PositionSettings = Absolute | Relative | NoPositions | Combined


def position_settings(
    kind: PositionKind, *, theta: float = PLAIN_THETA, scaling: ScaledRope | None = None
) -> PositionSettings:
    """The record of a kind; `theta` and `scaling` are for rotary positions."""
    absolute, _, relative = kind.partition("+")
    if relative:
        one, other = (_plain(each, theta=theta, scaling=scaling) for each in (absolute, relative))
        assert isinstance(one, Absolute), kind
        assert isinstance(other, Relative), kind
        return Combined(one, other)
    return _plain(kind, theta=theta, scaling=scaling)


def _plain(kind: str, *, theta: float, scaling: ScaledRope | None) -> Absolute | Relative | NoPositions:
    match kind:
        case "sinusoidal":
            return Sinusoidal()
        case "learned":
            return Learned()
        case "rotary":
            return Rotary(theta, scaling)
        case "rotary_qkv":
            return RotaryValues(theta, scaling)
        case "alibi":
            return Alibi()
        case "t5":
            return RelativeBias()
        case "shaw":
            return RelativeVectors()
        case "none":
            return NoPositions()
        case _:
            raise AssertionError(f"{kind} is refused with the recipe")


def parts_of(settings: PositionSettings) -> tuple[Absolute | Relative | NoPositions, ...]:
    """The records that are combined, or the one there is."""
    return (settings.absolute, settings.relative) if isinstance(settings, Combined) else (settings,)


KINDS: tuple[PositionSettings, ...] = tuple(
    position_settings(kind) for literal in get_args(PositionKind) for kind in get_args(literal)
)
"""The record of each kind, with the usual wavelengths."""
