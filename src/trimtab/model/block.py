"""One layer of the encoder and one of the decoder: sub-layers with a residual path and a norm before or after."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import ModelConfig
from trimtab.model.attention import attend
from trimtab.model.feed_forward import FeedForward
from trimtab.model.layout import Layout
from trimtab.model.norm import build_norm
from trimtab.model.position import Rotation


class SelfAttention(nn.Module):
    """Each token attends to its own segment. Queries, keys and values come from one fused map."""

    def __init__(self, config: ModelConfig | DecoderModel, *, qk_norm: bool = False) -> None:
        """`qk_norm` puts an RMSNorm on the queries and keys of each head (arXiv 2302.05442, section 2.1)."""
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads or config.heads
        self.size = config.dim // config.heads
        outputs = (self.heads + 2 * self.kv_heads) * self.size
        self.qkv = nn.Linear(config.dim, outputs, bias=config.bias)
        self.out = nn.Linear(config.dim, config.dim, bias=config.bias)
        self.norm_queries = build_norm("rms", self.size) if qk_norm else None
        self.norm_keys = build_norm("rms", self.size) if qk_norm else None

    def forward(
        self, x: Float[Tensor, "tokens dim"], layout: Layout, rotation: Rotation | None, *, causal: bool
    ) -> Float[Tensor, "tokens dim"]:
        """What each token took from its segment; `causal` hides what comes after it."""
        queries, keys, values = self.project(x, rotation)
        return self.out(attend(queries, keys, values, of=layout, to=layout, causal=causal).flatten(1))

    def project(
        self, x: Float[Tensor, "tokens dim"], rotation: Rotation | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries `tokens heads size`, keys and values `tokens kv_heads size`; turned where there is a rotation."""
        parts = self.qkv(x).view(x.shape[0], -1, self.size)
        queries, keys, values = parts.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        if self.norm_queries is not None and self.norm_keys is not None:
            queries, keys = self._normed(queries, self.norm_queries), self._normed(keys, self.norm_keys)
        if rotation is not None:
            queries, keys = rotation.rotate(queries), rotation.rotate(keys)
        return queries, keys, values

    @staticmethod
    def _normed(x: Tensor, norm: nn.Module) -> Tensor:
        """Under autocast a norm computes in its gain's precision; the products go on in their own."""
        return norm(x.to(norm.weight.dtype)).to(x.dtype)


class CrossAttention(nn.Module):
    """Each target token attends to the source segment of the same number."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads or config.heads
        self.size = config.dim // config.heads
        self.q = nn.Linear(config.dim, config.dim, bias=config.bias)
        self.kv = nn.Linear(config.dim, 2 * self.kv_heads * self.size, bias=config.bias)
        self.out = nn.Linear(config.dim, config.dim, bias=config.bias)

    def forward(
        self, x: Float[Tensor, "tokens dim"], memory: Float[Tensor, "sources dim"], of: Layout, to: Layout
    ) -> Float[Tensor, "tokens dim"]:
        """What each target token took from its source segment."""
        queries = self.q(x).view(len(x), self.heads, self.size)
        keys, values = self.keys_values(memory)
        return self.out(attend(queries, keys, values, of=of, to=to, causal=False).flatten(1))

    def keys_values(self, memory: Float[Tensor, "sources dim"]) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder's output, each `sources kv_heads size`."""
        keys, values = self.kv(memory).view(len(memory), 2, self.kv_heads, self.size).unbind(1)
        return keys, values


class SubLayers(nn.Module):
    """The residual path that all kinds of layer share: `x + f(norm(x))`, or `norm(x + f(x))`."""

    def __init__(self, config: ModelConfig | DecoderModel) -> None:
        super().__init__()
        self.norm_first = config.norm_position == "before"
        self.dropout = config.dropout

    def enter(self, x: Tensor, norm: nn.Module) -> Tensor:
        """What the sub-layer sees."""
        return norm(x) if self.norm_first else x

    def leave(self, x: Tensor, update: Tensor, norm: nn.Module) -> Tensor:
        """The residual path after the sub-layer."""
        x = x + F.dropout(update, self.dropout, self.training)
        return x if self.norm_first else norm(x)


class EncoderBlock(nn.Module):
    """Self-attention over the source, then a feed-forward sub-layer."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.path = SubLayers(config)
        self.norm_attention = build_norm(config.norm, config.dim)
        self.attention = SelfAttention(config)
        self.norm_feed_forward = build_norm(config.norm, config.dim)
        self.feed_forward = FeedForward(config)

    def forward(
        self, x: Float[Tensor, "tokens dim"], layout: Layout, rotation: Rotation | None
    ) -> Float[Tensor, "tokens dim"]:
        """The residual path after this layer."""
        update = self.attention(self.path.enter(x, self.norm_attention), layout, rotation, causal=False)
        x = self.path.leave(x, update, self.norm_attention)
        update = self.feed_forward(self.path.enter(x, self.norm_feed_forward))
        return self.path.leave(x, update, self.norm_feed_forward)


class DecoderBlock(nn.Module):
    """Causal self-attention over the target, attention to the source, then a feed-forward sub-layer."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.path = SubLayers(config)
        self.norm_attention = build_norm(config.norm, config.dim)
        self.attention = SelfAttention(config)
        self.norm_cross = build_norm(config.norm, config.dim)
        self.cross = CrossAttention(config)
        self.norm_feed_forward = build_norm(config.norm, config.dim)
        self.feed_forward = FeedForward(config)

    def forward(
        self,
        x: Float[Tensor, "tokens dim"],
        memory: Float[Tensor, "sources dim"],
        target: Layout,
        source: Layout,
        rotation: Rotation | None,
    ) -> Float[Tensor, "tokens dim"]:
        """The residual path after this layer."""
        update = self.attention(self.path.enter(x, self.norm_attention), target, rotation, causal=True)
        x = self.path.leave(x, update, self.norm_attention)
        update = self.cross(self.path.enter(x, self.norm_cross), memory, target, source)
        x = self.path.leave(x, update, self.norm_cross)
        update = self.feed_forward(self.path.enter(x, self.norm_feed_forward))
        return self.path.leave(x, update, self.norm_feed_forward)
