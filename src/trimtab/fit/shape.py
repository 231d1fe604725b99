"""What a plan must know of a model: its tensors by shape, and what each kind of layer computes."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal

Part = Literal["embedding", "output", "position", "matrix", "vector", "adapter"]
"""What a tensor is: matrices are those of linear maps, which run in half precision; vectors are norms and biases."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Tensors of one shape."""

    name: str
    shape: tuple[int, ...]
    part: Part
    count: int = 1
    """How many there are: one for each layer, mostly."""
    trained: bool = True
    packed_rows: tuple[int, ...] = ()
    """Rows of the matrices that it is kept as in 4 bits, one below another; none where it is not packed."""

    @property
    def each(self) -> int:
        """Numbers in one of them."""
        return prod(self.shape)

    @property
    def numbers(self) -> int:
        """Numbers in all of them."""
        return self.each * self.count

    @property
    def is_linear(self) -> bool:
        """Whether autocast makes copies of them in half precision: matrices, and biases of linear maps."""
        return self.part in ("matrix", "adapter") or (self.part == "vector" and self.name.endswith("bias"))


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer computes, as far as its activations depend on it."""

    dim: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    gated: bool
    activation: str
    norm: Literal["layer", "rms"] = "layer"
    norm_first: bool = True
    drops: bool = False
    """Whether there is dropout."""
    cross: bool = False
    """Whether it attends to a source as well."""
    rotates: bool = False
    qk_norm: bool = False
    keeps_half: bool = False
    """Whether the residual stream is in half precision where the run is `bf16_mixed`."""
    biased: bool = False
    adapters: tuple[tuple[str, int], ...] = ()
    """Linear maps with a LoRA adapter, by name, and the rank times the number of maps that are fused in each."""

    scaled: int = 0
    """Outputs of the linear maps whose rows DoRA scales."""

    @property
    def query_width(self) -> int:
        """Numbers of the queries of a token."""
        return self.heads * self.head_size

    @property
    def key_width(self) -> int:
        """Numbers of its keys."""
        return self.kv_heads * self.head_size

    @property
    def frozen(self) -> bool:
        """Whether only adapters are trained."""
        return bool(self.adapters)


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers of one side, all alike."""

    layer: Layer
    layers: int
    reads_source: bool = False
    """Whether its tokens are those of the source."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A whole model."""

    weights: tuple[Weights, ...]
    stacks: tuple[Stack, ...]
    dim: int
    rows: int
    """Of the output matrix."""
    tied: bool
    """Whether the output matrix is that of the target's embeddings."""
    shares_source: bool = False
    """Whether source tokens use the same embeddings too."""
    final_norm: bool = True
    buffers: int = 0
    """Bytes of tables that are not trained, such as those of rotary positions."""
    padded: bool = False
    """Whether attention runs over padded rows whatever the precision."""
    one_target: bool = False
    """Whether each text has one target, as in classification."""
    output_bias: bool = False

    @property
    def parameters(self) -> int:
        """All numbers of its weights, tied ones once."""
        return sum(each.numbers for each in self.weights)

    @property
    def trained(self) -> int:
        """Those that are trained."""
        return sum(each.numbers for each in self.weights if each.trained)

    def count(self, parts: Iterable[Part], *, trained: bool | None = None) -> int:
        """Numbers of some parts; of all of them, or only of those that are trained or frozen."""
        wanted = set(parts)
        return sum(
            each.numbers for each in self.weights if each.part in wanted and trained in (None, each.trained)
        )
