"""One layer of a decoder-only model: self-attention and a feed-forward sub-layer."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.decoder_model import DecoderModel
from trimtab.model.attention import attend
from trimtab.model.block import SelfAttention, SubLayers
from trimtab.model.feed_forward import FeedForward
from trimtab.model.layout import Layout
from trimtab.model.norm import build_norm
from trimtab.model.position import Rotation
from trimtab.model.prefix_attention import PrefixLayout, attend_prefix

Mix = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From queries `tokens heads size`, keys and values `tokens kv_heads size`, what each token takes, as large as its
queries."""


class CausalBlock(nn.Module):
    """Causal self-attention, in both directions over a prefix where there is one, then a feed-forward sub-layer."""

    def __init__(self, config: DecoderModel) -> None:
        super().__init__()
        self.path = SubLayers(config)
        self.norm_attention = build_norm(config.norm, config.dim)
        self.attention = SelfAttention(config, qk_norm=config.qk_norm)
        self.norm_feed_forward = build_norm(config.norm, config.dim)
        self.feed_forward = FeedForward(config)

    def forward(
        self,
        x: Float[Tensor, "tokens dim"],
        layout: Layout,
        rotation: Rotation | None,
        prefix: PrefixLayout | None = None,
    ) -> Float[Tensor, "tokens dim"]:
        """The residual path after this layer."""

        def mix(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            if prefix is None:
                return attend(queries, keys, values, of=layout, to=layout, causal=True)
            return attend_prefix(queries, keys, values, layout=layout, prefix=prefix)

        return self.through(x, rotation, mix)

    def through(
        self, x: Float[Tensor, "tokens dim"], rotation: Rotation | None, mix: Mix
    ) -> Float[Tensor, "tokens dim"]:
        """The same with attention by another function, such as one that remembers keys and values."""
        path = self.path
        parts = self.attention.project(path.enter(x, self.norm_attention), rotation)
        update = self.attention.out(mix(*parts).flatten(1))
        # A norm after the sum gives float32 under autocast; the path keeps the precision that it began with.
        y = path.leave(x, update, self.norm_attention).to(x.dtype)
        update = self.feed_forward(path.enter(y, self.norm_feed_forward))
        return path.leave(y, update, self.norm_feed_forward).to(x.dtype)
