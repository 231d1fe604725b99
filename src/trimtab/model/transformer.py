"""What the models of this package share: blocks, the output matrix, their size, a copy in half precision."""

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.optimizers import Role
from trimtab.model.attention import Kernel
from trimtab.model.four_bit import four_bit_maps
from trimtab.model.layer_settings import WidthSettings
from trimtab.model.positions.kind import Positions
from trimtab.model.recompute import Recompute, layer_output, set_feed_forward
from trimtab.model.roles import role_in
from trimtab.types import Stream

Own = TypeVar("Own", bound="Transformer")


class Transformer(nn.Module):
    """A transformer that predicts ids; see `types.TrainableModel`."""

    embedding: nn.Embedding
    output: nn.Embedding | None

    def __init__(self, config: WidthSettings, *, num_ids: int, max_positions: int) -> None:
        """`num_ids` is the size of the vocabulary; no segment may be longer than `max_positions` tokens."""
        super().__init__()
        self.num_ids = num_ids
        self.max_positions = max_positions
        self.position_shift = 0
        """Largest shift of the positions that are added to embeddings, in training; building a run sets it."""
        self.kernel: Kernel = "padded"
        self.recompute: Recompute = "none"
        self.has_bias = config.needs_padding
        self.frozen: frozenset[str] = frozenset()
        self.begins_zero: frozenset[str] = frozenset()
        self._norm = config.norm
        self._dim = config.dim

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers in the order in which they run: what is compiled, checkpointed or sharded one by one."""
        raise NotImplementedError

    @property
    def dim(self) -> int:
        """Width of the residual stream, by which the noam schedule scales."""
        return self._dim

    def tokens_read(self, batch: Any) -> dict[str, int]:
        """How many real tokens of a batch each stack of layers reads, by the stack's name."""
        raise NotImplementedError

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """The output matrix, tied or not; rows from `num_ids` on stand for nothing and belong to no softmax."""
        return (self.embedding if self.output is None else self.output).weight

    @property
    def padded(self) -> bool:
        """Whether attention runs over padded rows: where the model is set so, and where positions add a bias to the
        scores, which the flat kernels cannot do."""
        return self.kernel == "padded" or self.has_bias

    def places_of(self, stream: Stream) -> Int[Tensor, "tokens"]:
        """The positions that are added to a stream's embeddings."""
        if self.training and self.position_shift:
            return shifted_positions(stream, most=self.position_shift)
        return stream.positions

    logit_cap: ClassVar[None] = None
    """Logits are products, and are not squashed."""

    def logits(self, hidden: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens vocabulary"]:
        """The scores of the vocabulary by each vector, in float32 or wider."""
        matrix = self.output_matrix[: self.num_ids]
        found = F.linear(hidden, matrix.to(hidden.dtype))
        return found.to(torch.promote_types(found.dtype, torch.float32))

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        raise NotImplementedError

    def compile_blocks(self) -> None:
        """Compiles each block; all layers of a side share the code (fixed shapes only)."""
        for block in self.blocks:
            block.compile(dynamic=False, options=inductor_options(self._norm))

    def recompute_in_backward(self, recompute: Recompute) -> None:
        """Which activations the backward pass computes again: none, those of the feed-forward sub-layers, or all but
        what enters each layer. The gradients are the same to the bit."""
        self.recompute = recompute
        set_feed_forward(self.blocks, recomputes=recompute == "feed_forward")

    def after(self, block: nn.Module, x: Float[Tensor, "tokens dim"], *inputs: Any, **given: Any) -> Any:
        """What a layer gives, in training."""
        return layer_output(block, x, *inputs, recompute=self.recompute, **given)

    @torch.no_grad()
    def num_parameters(self) -> int:
        """Numbers in its weights, tied ones once, packed ones too."""
        packed = sum(each.in_features * each.out_features for each in four_bit_maps(self))
        return sum(parameter.numel() for parameter in self.parameters()) + packed

    def role_of(self, name: str) -> Role:
        """What a parameter is for, by its name in `named_parameters`."""
        return role_in(self, name)

    def half_precision_copy(self: Own, dtype: torch.dtype) -> Own:
        """A copy with weights in half precision; angles of rotary positions keep theirs. Frozen weights that are in it
        already are shared."""
        named = dict(self.named_parameters())
        shared = {id(named[name]): named[name] for name in self.frozen if named[name].dtype == dtype}
        return copy.deepcopy(self, shared).narrowed(dtype)

    def narrowed(self: Own, dtype: torch.dtype) -> Own:
        """The model itself with its weights in half precision; angles of rotary positions keep theirs."""
        angles = [(each, copy.deepcopy(each)) for each in self.modules() if isinstance(each, Positions)]
        self.to(dtype)
        for positions, original in angles:
            positions.keep_precision(original)
        return self


def inductor_options(norm: Literal["layer", "rms"]) -> dict[str, bool]:
    """For blocks with LayerNorm: sums over rows and over columns in kernels of their own.

    From torch 2.10 on one kernel makes both (`mix_order_reduction`), and is slow at the gradient of LayerNorm behind
    dropout: without it a step of the base preset takes 19.4 ms of an H200 in place of 21.5. With RMSNorm it stays
    on: a decoder of 341M parameters was no faster without it, seen once.
    """
    import torch._inductor.config as inductor  # late: only who compiles needs it

    known = hasattr(inductor.triton, "mix_order_reduction")
    return {"triton.mix_order_reduction": False} if norm == "layer" and known else {}


def shifted_positions(stream: Stream, *, most: int) -> Int[Tensor, "tokens"]:
    """Shifted absolute positions (SHAPE): the positions of a stream's tokens, with a number from 0 to `most` added to
    all of each segment. It is drawn from the generator of the device, which a step seeds as for dropout.

    Source: Kiyono et al. 2021, arXiv 2109.05644, section 3.
    """
    segments = stream.cu_seqlens.shape[0] - 1
    offsets = torch.randint(0, most + 1, (segments,), device=stream.positions.device)
    return stream.positions + offsets[stream.segments]
