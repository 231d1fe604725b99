"""What the models of this package share: blocks, the output matrix, their size, a copy in half precision."""

import copy
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import Role
from trimtab.model.attention import Kernel
from trimtab.model.four_bit import four_bit_maps
from trimtab.model.layer_settings import LayerSettings
from trimtab.model.positions.kind import Positions
from trimtab.model.roles import role_in

Own = TypeVar("Own", bound="Transformer")


class Transformer(nn.Module):
    """A transformer that predicts ids; see `types.TrainableModel`."""

    embedding: nn.Embedding
    output: nn.Embedding | None

    def __init__(self, config: LayerSettings, *, num_ids: int, max_positions: int) -> None:
        """`num_ids` is the size of the vocabulary; no segment may be longer than `max_positions` tokens."""
        super().__init__()
        self.num_ids = num_ids
        self.max_positions = max_positions
        self.kernel: Kernel = "padded"
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

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        raise NotImplementedError

    def compile_blocks(self) -> None:
        """Compiles each block; all layers of a side share the code (fixed shapes only)."""
        for block in self.blocks:
            block.compile(dynamic=False, options=inductor_options(self._norm))

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
        narrow = copy.deepcopy(self, shared).to(dtype)
        for module, original in zip(narrow.modules(), self.modules(), strict=True):
            if isinstance(module, Positions) and isinstance(original, Positions):
                module.keep_precision(original)
        return narrow


def inductor_options(norm: Literal["layer", "rms"]) -> dict[str, bool]:
    """For blocks with LayerNorm: sums over rows and over columns in kernels of their own.

    From torch 2.10 on one kernel makes both (`mix_order_reduction`), and is slow at the gradient of LayerNorm behind
    dropout: without it a step of the base preset takes 19.4 ms of an H200 in place of 21.5. With RMSNorm it stays
    on: a decoder of 341M parameters was no faster without it, seen once.
    """
    import torch._inductor.config as inductor  # late: only who compiles needs it

    known = hasattr(inductor.triton, "mix_order_reduction")
    return {"triton.mix_order_reduction": False} if norm == "layer" and known else {}
