"""What the layers of a model must know of its settings, whatever kind of model it is."""

from typing import Literal, Protocol, runtime_checkable

from trimtab.config.experts import Experts
from trimtab.config.layer_parts import Activation, NormPosition
from trimtab.config.positions import PositionSettings


@runtime_checkable
class WidthSettings(Protocol):
    """What any model is asked for, whatever its layers are."""

    @property
    def dim(self) -> int:
        """Width of its layers."""
        ...

    @property
    def norm(self) -> Literal["layer", "rms"]:
        """The kind of norm."""
        ...

    @property
    def needs_padding(self) -> bool:
        """Whether attention must run over padded rows."""
        ...


@runtime_checkable
class LayerSettings(Protocol):
    """Settings of a model, as far as its layers read them; see `config.model` and its siblings for the meaning."""

    @property
    def dim(self) -> int:
        """Width of the residual stream."""
        ...

    @property
    def heads(self) -> int:
        """Attention heads."""
        ...

    @property
    def kv_heads(self) -> int | None:
        """Heads of keys and values; None for as many as `heads`."""
        ...

    @property
    def feed_forward(self) -> int:
        """Width between the linear maps of a feed-forward block."""
        ...

    @property
    def dropout(self) -> float:
        """On embeddings and on the output of each sub-layer."""
        ...

    @property
    def norm(self) -> Literal["layer", "rms"]:
        """LayerNorm or RMSNorm."""
        ...

    @property
    def norm_position(self) -> NormPosition:
        """Where the norms of a layer are."""
        ...

    @property
    def rezero(self) -> bool:
        """Whether what a sub-layer adds has a factor that begins at zero."""
        ...

    @property
    def qk_norm(self) -> bool:
        """Whether queries and keys are normalized."""
        ...

    @property
    def activation(self) -> Activation:
        """Of the feed-forward blocks."""
        ...

    @property
    def experts(self) -> Experts | None:
        """What a mixture of experts is made of; None for one feed-forward block."""
        ...

    @property
    def bias(self) -> bool | Literal["qkv"]:
        """Whether the linear maps have biases, or which of them."""
        ...

    @property
    def needs_padding(self) -> bool:
        """Whether attention must run over padded rows, since a kernel for packs cannot do what the positions ask."""
        ...

    @property
    def all_position_settings(self) -> tuple[PositionSettings, ...]:
        """What the positions of each side are and do."""
        ...


@runtime_checkable
class OwnShape(Protocol):
    """What a decoder without a source may set beside `LayerSettings`; see `config.decoder_model`."""

    @property
    def size_of_heads(self) -> int:
        """Numbers in each head."""
        ...

    @property
    def qk_norm(self) -> bool:
        """Whether queries and keys are normalized."""
        ...

    @property
    def norm_epsilon(self) -> float | None:
        """Of each norm; None for the usual one."""
        ...
