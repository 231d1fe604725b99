"""One layer of an encoder and one of a decoder: sub-layers with a residual path and a norm before or after."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.model.attention import attend
from trimtab.model.encoder_mix import EncoderMix
from trimtab.model.experts import build_feed_forward
from trimtab.model.layer_settings import LayerSettings, OwnShape
from trimtab.model.mixture_of_depths import DepthRouter, positions_of
from trimtab.model.norm import SubLayerNorm, build_norm, build_sub_layer_norm
from trimtab.model.positions.kind import PositionInputs, RotaryCosSin
from trimtab.model.positions.shaw import DistanceVectors, Relative, distance_vectors
from trimtab.model.prefix_attention import PrefixLayout, attend_prefix
from trimtab.model.recompute import recomputed
from trimtab.model.sequence_layout import SequenceLayout

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From queries `tokens heads size`, keys and values `tokens kv_heads size`, what each token takes, `tokens heads
size`."""
SubLayer = Callable[[Tensor], Tensor]
"""From what a sub-layer sees, `tokens dim`, what it adds to the residual path."""


class SelfAttention(nn.Module):
    """Each token attends to its own segment. Queries, keys and values come from one fused map."""

    def __init__(self, config: LayerSettings, *, own: OwnShape | None = None) -> None:
        """`own` is the shape of a decoder without a source. `qk_norm` puts an RMSNorm on the queries and keys of each
        head (arXiv 2302.05442, section 2.1)."""
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads or config.heads
        self.size = config.dim // config.heads if own is None else own.size_of_heads
        outputs = (self.heads + 2 * self.kv_heads) * self.size
        self.qkv = nn.Linear(config.dim, outputs, bias=bool(config.bias))
        self.out = nn.Linear(self.heads * self.size, config.dim, bias=config.bias is True)
        norms = config.qk_norm if own is None else own.qk_norm
        epsilon = None if own is None else own.norm_epsilon
        self.norm_queries = build_norm("rms", self.size, epsilon=epsilon) if norms else None
        self.norm_keys = build_norm("rms", self.size, epsilon=epsilon) if norms else None
        self.relative: DistanceVectors | None = None
        """Added to keys and values by distance, where positions ask for it; the layer fills it in."""

    def forward(
        self,
        x: Float[Tensor, "tokens dim"],
        layout: SequenceLayout,
        positions: PositionInputs,
        *,
        causal: bool,
        prefix: PrefixLayout | None = None,
    ) -> Float[Tensor, "tokens dim"]:
        """What each token took from its segment; `causal` hides what comes after it, but not within a prefix."""
        bias = self.added(positions)

        def attend_segments(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            if prefix is not None:
                return attend_prefix(queries, keys, values, layout=layout, prefix=prefix, bias=bias)
            return attend(queries, keys, values, of=layout, to=layout, causal=causal, bias=bias)

        return self.attend_by(attend_segments, x, positions.rotary)

    def attend_by(
        self, attend: Attend, x: Float[Tensor, "tokens dim"], rotary: RotaryCosSin | None
    ) -> Float[Tensor, "tokens dim"]:
        """The same with attention by a function that is passed in, such as one with a cache of keys and values."""
        mixed = attend(*self.project(x, rotary))
        if rotary is not None and rotary.values:
            mixed = rotary.rotate_back(mixed.view(x.shape[0], self.heads, self.size))
        return self.out(mixed.flatten(1))

    def added(self, positions: PositionInputs) -> Tensor | Relative | None:
        """What positions add to the scores in this layer, or to keys and values."""
        if self.relative is None:
            return positions.bias
        assert positions.distances is not None, "positions that give distances"
        return self.relative.at(positions.distances)

    def project(
        self, x: Float[Tensor, "tokens dim"], rotary: RotaryCosSin | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries `tokens heads size`, keys and values `tokens kv_heads size`; rotated where there are angles."""
        parts = self.qkv(x).view(x.shape[0], -1, self.size)
        queries, keys, values = parts.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        if self.norm_queries is not None and self.norm_keys is not None:
            queries, keys = self._normed(queries, self.norm_queries), self._normed(keys, self.norm_keys)
        if rotary is not None:
            queries, keys = rotary.rotate(queries), rotary.rotate(keys)
            values = rotary.rotate(values) if rotary.values else values
        return queries, keys, values

    @staticmethod
    def _normed(x: Tensor, norm: nn.Module) -> Tensor:
        """Under autocast a norm computes in its gain's precision; the products continue in their own."""
        return norm(x.to(norm.weight.dtype)).to(x.dtype)


class CrossAttention(nn.Module):
    """Each target token attends to the source segment of the same number."""

    def __init__(self, config: LayerSettings) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads or config.heads
        self.size = config.dim // config.heads
        self.q = nn.Linear(config.dim, config.dim, bias=config.bias)
        self.kv = nn.Linear(config.dim, 2 * self.kv_heads * self.size, bias=config.bias)
        self.out = nn.Linear(config.dim, config.dim, bias=config.bias)
        self.mix: EncoderMix | None = None
        """Of the outputs of all encoder layers, where the model asks for it and fills it in."""

    def forward(
        self,
        x: Float[Tensor, "tokens dim"],
        memory: Float[Tensor, "sources width"],
        of: SequenceLayout,
        to: SequenceLayout,
    ) -> Float[Tensor, "tokens dim"]:
        """What each target token took from its source segment."""

        def attend_source(queries: Tensor) -> Tensor:
            keys, values = self.keys_values(memory)
            return attend(queries, keys, values, of=of, to=to, causal=False)

        return self.attend_by(attend_source, x)

    def attend_by(
        self, attend: Callable[[Tensor], Tensor], x: Float[Tensor, "tokens dim"]
    ) -> Float[Tensor, "tokens dim"]:
        """The same with attention by a function from queries `tokens heads size`, which knows keys and values."""
        return self.out(attend(self.q(x).view(len(x), self.heads, self.size)).flatten(1))

    def of_head(
        self, x: Float[Tensor, "tokens dim"], memory: Float[Tensor, "sources width"], *, head: int
    ) -> tuple[Float[Tensor, "tokens size"], Float[Tensor, "sources size"]]:
        """Queries and keys of one head, counted from 0."""
        kept = head * self.kv_heads // self.heads
        rows, kept_rows = (slice(each * self.size, (each + 1) * self.size) for each in (head, kept))
        memory = memory if self.mix is None else self.mix(memory)
        return _some_rows(self.q, x, rows), _some_rows(self.kv, memory, kept_rows)

    def keys_values(self, memory: Float[Tensor, "sources width"]) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder's output, each `sources kv_heads size`."""
        memory = memory if self.mix is None else self.mix(memory)
        keys, values = self.kv(memory).view(len(memory), 2, self.kv_heads, self.size).unbind(1)
        return keys, values


def _some_rows(linear: nn.Linear, x: Tensor, rows: slice) -> Tensor:
    """What some rows of a map give; a map that is more than its weight, as one with an adapter, is taken whole."""
    if type(linear) is not nn.Linear:
        return linear(x)[..., rows]
    return F.linear(x, linear.weight[rows], None if linear.bias is None else linear.bias[rows])


class Residual(nn.Module):
    """The residual path that all kinds of layer share: `x + f(norm(x))`, or `norm(x + f(x))`; with the bottom-to-top
    connection the last norm of a layer is of `bottom + x + f(x)`, where `bottom` is what entered the layer (Takase et
    al., arXiv 2206.00330, equation 10). What a `SubLayerNorm` adds is in `model.norm`."""

    def __init__(self, config: LayerSettings, *, keeps_precision: bool = False) -> None:
        super().__init__()
        self.norm_first = config.norm_position in SUM_WITHOUT_NORM
        self.adds_bottom = config.norm_position == "b2t"
        self.dropout = config.dropout
        self.skip_chance = 0.0
        """Of each sub-layer in training; see `set_stochastic_depth`."""
        self.keeps_precision = keeps_precision
        """A norm after the sum gives float32 under autocast. The path of a language model keeps the precision that it
        began with, see `DecoderModel.residual`; that of a translator continues in float32."""

    def pre(self, x: Tensor, norm: nn.Module) -> Tensor:
        """What the sub-layer sees."""
        return norm(x) if self.norm_first else x

    def post(self, x: Tensor, update: Tensor, norm: nn.Module, *, bottom: Tensor | None = None) -> Tensor:
        """The residual path after the sub-layer; `bottom` is given to the last one of a layer."""
        dtype = x.dtype
        update = norm.scale(update) if isinstance(norm, SubLayerNorm) else update
        x = x + F.dropout(self.kept_by_chance(update), self.dropout, self.training)
        if bottom is not None and self.adds_bottom:
            x = x + bottom
        x = x if self.norm_first else norm(x)
        return x.to(dtype) if self.keeps_precision else x

    def kept_by_chance(self, update: Tensor) -> Tensor:
        """What a sub-layer adds: in training sometimes nothing, and more at other times."""
        return update * _kept(update, self.skip_chance) if self.training and self.skip_chance else update

    def feed(
        self, x: Tensor, norm: nn.Module, feed_forward: SubLayer, *, recomputes: bool, bottom: Tensor
    ) -> Tensor:
        """The residual path after the feed-forward sub-layer, whose wide activations may be computed again in the
        backward pass."""

        def update(x: Tensor) -> Tensor:
            return feed_forward(self.pre(x, norm))

        return self.post(x, recomputed(update, x) if recomputes else update(x), norm, bottom=bottom)


def set_stochastic_depth(layers: Sequence[nn.Module], *, most: float) -> None:
    """Skips the sub-layers of a stack by chance in training, the last layer's with a chance of `most` and those below
    less in proportion; what is kept is divided by its chance, so that nothing changes in evaluation (Huang et al. 2016,
    arXiv 1603.09382, section 3, with the scaling in training rather than in the test)."""
    for number, layer in enumerate(layers, 1):
        for module in layer.modules():
            if isinstance(module, Residual):
                module.skip_chance = most * number / len(layers)


@contextmanager
def nothing_skipped(model: nn.Module) -> Iterator[None]:
    """While it is open no sub-layer is skipped, so that gradients reach every weight."""
    chances = {each: each.skip_chance for each in model.modules() if isinstance(each, Residual)}
    for each in chances:
        each.skip_chance = 0.0
    try:
        yield
    finally:
        for each, chance in chances.items():
            each.skip_chance = chance


def _kept(update: Tensor, chance: float) -> Tensor:
    """0 where a sub-layer is skipped, otherwise 1 / (1 - chance): drawn on the device, since recorded steps repeat what
    the host has decided."""
    kept = torch.rand((), device=update.device) >= chance
    return kept.to(update.dtype) / (1 - chance)


class EncoderBlock(nn.Module):
    """Self-attention over the source, then a feed-forward sub-layer."""

    recomputes: bool = False
    """Whether activations of the feed-forward sub-layer are computed again in the backward pass."""

    def __init__(self, config: LayerSettings) -> None:
        super().__init__()
        self.residual = Residual(config)
        self.norm_attention = build_sub_layer_norm(config)
        self.attention = SelfAttention(config)
        if config.all_position_settings:
            self.attention.relative = distance_vectors(
                config.all_position_settings[0], size=self.attention.size, bidirectional=True
            )
        self.norm_feed_forward = build_sub_layer_norm(config)
        self.feed_forward = build_feed_forward(config)

    def forward(
        self, x: Float[Tensor, "tokens dim"], layout: SequenceLayout, positions: PositionInputs
    ) -> Float[Tensor, "tokens dim"]:
        """The residual path after this layer."""
        bottom = x
        update = self.attention(self.residual.pre(x, self.norm_attention), layout, positions, causal=False)
        x = self.residual.post(x, update, self.norm_attention)
        return self.residual.feed(
            x, self.norm_feed_forward, self.feed_forward, recomputes=self.recomputes, bottom=bottom
        )


class Source(NamedTuple):
    """What a decoder block reads of the source in training: the encoder's output, and both layouts."""

    memory: Float[Tensor, "sources width"]
    target: SequenceLayout
    source: SequenceLayout


class AlignedOutput(NamedTuple):
    """What a decoder gives where one of its heads learns to align words."""

    x: Float[Tensor, "tokens dim"]
    queries: Float[Tensor, "tokens size"]
    keys: Float[Tensor, "sources size"]


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source where the model has an encoder, then a feed-forward sub-layer.

    `forward` runs it over flat packs, for training; decoding passes its own attention to `run`.
    """

    recomputes: bool = False
    """As in `EncoderBlock`."""

    def __init__(self, config: LayerSettings, *, own: OwnShape | None = None) -> None:
        """`own` is the shape of a decoder without a source; with None there is one to attend to."""
        super().__init__()
        epsilon = None if own is None else own.norm_epsilon
        self.residual = Residual(config, keeps_precision=own is not None)
        self.norm_attention = build_sub_layer_norm(config, epsilon=epsilon)
        self.attention = SelfAttention(config, own=own)
        self.attention.relative = distance_vectors(
            config.all_position_settings[-1], size=self.attention.size, bidirectional=False
        )
        self.norm_cross = build_sub_layer_norm(config) if own is None else None
        self.cross = CrossAttention(config) if own is None else None
        self.norm_feed_forward = build_sub_layer_norm(config, epsilon=epsilon)
        self.feed_forward = build_feed_forward(config)
        self.depths: DepthRouter | None = None
        """Chooses the tokens that this layer computes, where the model asks for it and fills it in."""

    def forward(
        self,
        x: Float[Tensor, "tokens dim"],
        layout: SequenceLayout,
        positions: PositionInputs,
        *,
        source: Source | None = None,
        prefix: PrefixLayout | None = None,
        head: int | None = None,
    ) -> Float[Tensor, "tokens dim"] | AlignedOutput:
        """The residual path after this layer. Self-attention is causal, in both directions over a prefix where there
        is one. With a `head` of the attention to the source, counted from 0, its queries and keys too."""
        if self.depths is not None:
            assert source is None, "a decoder alone"
            assert prefix is None, "one that is causal"
            chosen = self.depths.choose(x, layout)
            attend = partial(
                self.attention, layout=chosen.layout, positions=positions_of(positions, chosen), causal=True
            )
            return self.depths.put_back(x, self.computed(x[chosen.tokens], attend), chosen)
        of_head: list[Tensor] = []

        def attend_self(entered: Tensor) -> Tensor:
            return self.attention(entered, layout, positions, causal=True, prefix=prefix)

        def attend_source(entered: Tensor) -> Tensor:
            assert source is not None, "a block with attention to a source"
            assert self.cross is not None
            if head is not None:
                of_head.extend(self.cross.of_head(entered, source.memory, head=head))
            return self.cross(entered, *source)

        x = self.run(x, attend_self, attend_source)
        return x if head is None else AlignedOutput(x, *of_head)

    def run(
        self, x: Float[Tensor, "tokens dim"], attend_self: SubLayer, attend_source: SubLayer | None = None
    ) -> Float[Tensor, "tokens dim"]:
        """The same with both attentions passed in, which project, attend and map out; without a cross-attention the
        last one is not called. Where there is a router, all tokens are computed, and attention is to hide those that it
        does not take."""
        computed = self.computed(x, attend_self, attend_source)
        return computed if self.depths is None else self.depths.decided(x, computed)

    def computed(
        self, x: Float[Tensor, "tokens dim"], attend_self: SubLayer, attend_source: SubLayer | None = None
    ) -> Float[Tensor, "tokens dim"]:
        """The same for all tokens, without a router."""
        bottom = x
        x = self.residual.post(x, attend_self(self.residual.pre(x, self.norm_attention)), self.norm_attention)
        if self.norm_cross is not None:
            assert attend_source is not None, "a block with attention to a source"
            update = attend_source(self.residual.pre(x, self.norm_cross))
            x = self.residual.post(x, update, self.norm_cross)
        return self.residual.feed(
            x, self.norm_feed_forward, self.feed_forward, recomputes=self.recomputes, bottom=bottom
        )
