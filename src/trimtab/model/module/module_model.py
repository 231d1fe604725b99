"""What models share whose layers are a module of transformers; see `types.TrainableModel`."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from trimtab.config.optimizers import Role
from trimtab.model.four_bit import four_bit_maps
from trimtab.model.lora import Part
from trimtab.model.module.linear_maps import kept_wide, linear_maps
from trimtab.model.module.network import fill_network, shared_names, state_without_doubles
from trimtab.model.pretrained import Taken
from trimtab.model.roles import role_in
from trimtab.model.sequence_layout import sequence_layout
from trimtab.types import Stream

Own = TypeVar("Own", bound="ModuleModel")
PREFIX = "network."
BIAS_COLUMNS = 8
"""Added to hidden vectors and output matrix where outputs have a bias: one of them holds it. Products of half precision
want widths in multiples of 8."""


class ModuleModel(nn.Module):
    """A module of transformers with what a run needs of a model. Names of weights are `network.` and theirs; a matrix
    that is used in several places has the first of its names."""

    fresh: tuple[str, ...] = ()
    """Beginnings of the names that a folder may lack, as it has no head for the labels of a run."""
    transposed: frozenset[str] = frozenset()
    """Names in the module of the matrices that files hold with inputs and outputs exchanged, as those of GPT-2."""

    def __init__(self, config: Any, network: Any, *, num_ids: int, max_positions: int) -> None:
        """`config` is a TransformersModel, or the settings of another module with a `dim`; `num_ids` are the rows of
        the output matrix; no text may be longer than `max_positions` tokens."""
        super().__init__()
        self.config, self.num_ids, self.max_positions = config, num_ids, max_positions
        self.network = network
        self.kernel: Literal["varlen", "padded"] = "padded"
        self.frozen = frozenset(name for name, weight in self.named_parameters() if not weight.requires_grad)
        self.begins_zero: frozenset[str] = frozenset()

    @property
    def logit_cap(self) -> float | None:
        """The bound that logits are squashed to; None for none."""
        return self.config.logit_cap

    def logits(self, hidden: Float[Tensor, "tokens width"]) -> Float[Tensor, "tokens vocabulary"]:
        """The scores of the ids by each vector, in float32 or wider."""
        found = F.linear(hidden, self.output_matrix.to(hidden.dtype))
        found = found.to(torch.promote_types(found.dtype, torch.float32))
        return found if self.logit_cap is None else self.logit_cap * torch.tanh(found / self.logit_cap)

    @property
    def output_layer(self) -> Any:
        """What scores the ids: a module with a `weight`."""
        raise NotImplementedError

    @property
    def output_bias(self) -> Float[Tensor, "rows"] | None:
        """What is added to the scores; None for nothing."""
        raise NotImplementedError

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers in the order in which they run."""
        raise NotImplementedError

    @property
    def dim(self) -> int:
        """Width of the residual stream."""
        return self.config.dim

    @property
    def padded(self) -> bool:
        """Whether attention runs over padded rows: always."""
        return True

    @property
    def output_matrix(self) -> Float[Tensor, "rows width"]:
        """The output matrix, tied or not; where outputs have a bias, followed by columns of which the first is that
        bias (see `with_bias_columns`)."""
        weight, bias = self.output_layer.weight, self.output_bias
        if bias is None:
            return weight
        columns = weight.new_zeros(len(weight), BIAS_COLUMNS - 1)
        return torch.cat([weight, bias.to(weight.dtype)[:, None], columns], dim=1)

    def with_bias_columns(self, hidden: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens width"]:
        """The vectors whose products with `output_matrix` are the scores: a one for the bias, then zeros."""
        if self.output_bias is None:
            return hidden
        one = torch.eye(1, BIAS_COLUMNS, dtype=hidden.dtype, device=hidden.device)
        return torch.cat([hidden, one.expand(len(hidden), -1)], dim=1)

    def fill(self, path: str, *, sha256: str | None = None) -> Taken:
        """Puts the weights of a folder in; see `network.fill_network`."""
        return fill_network(self.network, path, sha256=sha256, fresh=self.fresh, transposed=self.transposed)

    def fused_maps(self) -> Iterator[tuple[nn.Module, str, tuple[Part, ...]]]:
        """Each linear map of the layers, for adapters: its owner, its name there, and what it is."""
        for each in [*linear_maps(self.network, self.blocks)]:
            rows = getattr(each.owner, each.attribute).out_features
            yield each.owner, each.attribute, (Part(each.name, rows, adapted=False),)

    def packs(self, attribute: str) -> bool:
        """Whether maps of this name are packed in 4 bits where an adapter asks for it."""
        return attribute not in kept_wide(self.network)

    @property
    def head_names(self) -> frozenset[str]:
        """Names of the weights of a head, which an adapter trains in full beside it; see `fresh`."""
        if not self.fresh:
            return frozenset()
        return frozenset(
            name for name, _ in self.named_parameters() if name.removeprefix(PREFIX).startswith(self.fresh)
        )

    def compile_blocks(self) -> None:
        """Compiles each block. (Runs do not ask for it: padded rows come in many shapes.)"""
        for block in self.blocks:
            block.compile(dynamic=True)

    @torch.no_grad()
    def num_parameters(self) -> int:
        """Numbers in its weights, tied ones once, packed ones too."""
        packed = sum(each.in_features * each.out_features for each in four_bit_maps(self))
        return sum(parameter.numel() for parameter in self.parameters()) + packed

    def role_of(self, name: str) -> Role:
        """What a parameter is for, by its name in `named_parameters`."""
        return role_in(self, name)

    def half_precision_copy(self: Own, dtype: torch.dtype) -> Own:
        """A copy with weights in half precision."""
        return copy.deepcopy(self).narrowed(dtype)

    def narrowed(self: Own, dtype: torch.dtype) -> Own:
        """The model itself with its weights in half precision."""
        return self.to(dtype)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Weights and buffers by name, a tensor of several names once: files have no two names for one."""
        if args or kwargs:
            return super().state_dict(*args, **kwargs)
        return state_without_doubles(self.network, PREFIX)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Takes what `state_dict` gave; RuntimeError where names or shapes are others."""
        again = {
            PREFIX + name: state_dict[PREFIX + first]
            for name, first in shared_names(self.network).items()
            if PREFIX + first in state_dict
        }
        return super().load_state_dict({**state_dict, **again}, strict=strict, assign=assign)


def padded_rows(
    stream: Stream, pad: int
) -> tuple[Int[Tensor, "rows longest"], Bool[Tensor, "rows longest"], Int[Tensor, "tokens"]]:
    """The segments of a stream as rows filled with `pad`, where they hold a token by their lengths (whatever its id),
    and the place of each token in the flattened rows. An empty segment holds one: attention to nothing is NaN."""
    layout = sequence_layout(stream, padded=True)
    assert layout.places is not None, "padded rows have both"
    assert layout.real is not None, "padded rows have both"
    rows = stream.ids.new_full((layout.real.numel(),), pad)
    rows[layout.places] = stream.ids
    real = layout.real.clone()
    real[:, 0] = True
    return rows.view(real.shape), real, layout.places
