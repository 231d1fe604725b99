"""LoRA: linear maps whose weights stay as they are, with a trained product of two thin matrices beside them.

Source: Hu et al. 2021, arXiv 2106.09685, section 4.1.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.adapter import LoraAdapter
from trimtab.errors import input_error
from trimtab.model.block import CrossAttention, SelfAttention
from trimtab.model.feed_forward import GATED, FeedForward
from trimtab.model.low_rank import with_low_rank
from trimtab.model.transformer import Transformer


class Part(NamedTuple):
    """Rows of a fused map that are a map of their own elsewhere."""

    name: str
    """As transformers and PEFT call it."""
    rows: int
    adapted: bool


class LoraLinear(nn.Linear):
    """A linear map with the product added. Its own weight and bias keep their names and are frozen.

    Where maps are fused, each of them has matrices of its own, as PEFT has them: `lora_a` holds the first ones of all,
    one below another, so that they are one product; `lora_b` has one map for each.
    """

    def __init__(self, linear: nn.Linear, parts: tuple[Part, ...], *, rank: int, scale: float) -> None:
        """Takes over the weight and the bias of `linear`, on their device."""
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self.parts, self.rank, self.scale = parts, rank, scale
        adapted = [part for part in parts if part.adapted]
        device = linear.weight.device
        self.lora_a = nn.Linear(linear.in_features, rank * len(adapted), bias=False, device=device)
        self.lora_b = nn.ModuleList(nn.Linear(rank, part.rows, bias=False, device=device) for part in adapted)

    def forward(self, input: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows out"]:
        """Each vector by itself."""
        return with_low_rank(input, self.weight, self.lora_a.weight, self.second(), self.bias)

    def second(self) -> Float[Tensor, "out ranks"]:
        """The second matrices, times the scale, each in the rows of its map and the columns of its first matrix."""
        pieces: list[Tensor] = []
        given = self.lora_a.out_features
        maps = enumerate(self.lora_b)
        for part in self.parts:
            if part.adapted:
                number, each = next(maps)
                before = number * self.rank
                pieces.append(F.pad(each.weight, (before, given - before - self.rank)))
            else:
                pieces.append(self.lora_a.weight.new_zeros(part.rows, given))
        return torch.cat(pieces) * self.scale

    @torch.no_grad()
    def merged(self) -> Float[Tensor, "out dim"]:
        """The one matrix that computes the same, in float32 or wider."""
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        first = iter(self.lora_a.weight.to(wide).split(self.rank))
        maps = iter(self.lora_b)
        pieces = [
            next(maps).weight.to(wide) @ next(first)
            if part.adapted
            else self.weight.new_zeros(part.rows, self.in_features, dtype=wide)
            for part in self.parts
        ]
        return self.weight.to(wide) + self.scale * torch.cat(pieces)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A map that has an adapter."""

    name: str
    """Of the fused map in the model."""
    linear: LoraLinear


def add_lora(model: Transformer, config: LoraAdapter, *, seed: int) -> None:
    """Freezes the model and gives the chosen maps of its layers their adapters. It computes what it did before: the
    second matrices are zero, the first ones drawn as PEFT does, uniform within 1 / sqrt(inputs).

    Raises InputError where the model has no map of these names.
    """
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.requires_grad = False
    frozen = {name for name, _ in model.named_parameters()}
    there: set[str] = set()
    for owner, attribute, parts in [*fused_maps(model)]:
        there |= {part.name for part in parts}
        chosen = tuple(part._replace(adapted=part.name in config.names) for part in parts)
        if not any(part.adapted for part in chosen):
            continue
        linear = getattr(owner, attribute)
        made = LoraLinear(linear, chosen, rank=config.rank, scale=config.scale)
        bound = 1 / math.sqrt(made.in_features)
        with torch.no_grad():
            drawn = torch.rand(made.lora_a.weight.shape, generator=generator)
            made.lora_a.weight.copy_((drawn * 2 - 1) * bound)
            for each in made.lora_b:
                each.weight.zero_()
        setattr(owner, attribute, made)
    if missing := [name for name in config.names if name not in there and config.targets != "all_linear"]:
        raise input_error(
            "adapter.targets: the model has no such maps",
            got=", ".join(missing),
            allowed=", ".join(sorted(there)),
            fix="leave them out, or set `adapter.targets: all_linear`",
        )
    model.frozen = frozenset(frozen)
    model.begins_zero = frozenset(
        f"{each.name}.lora_b.{number}.weight"
        for each in adapted_maps(model)
        for number in range(len(each.linear.lora_b))
    )


def fused_maps(model: nn.Module) -> Iterator[tuple[nn.Module, str, tuple[Part, ...]]]:
    """Every linear map of the layers: its owner, its name there, and the maps that are fused in it."""
    for module in model.modules():
        match module:
            case SelfAttention():
                kept = module.kv_heads * module.size
                rows = {"q_proj": module.heads * module.size, "k_proj": kept, "v_proj": kept}
                yield module, "qkv", _parts(rows)
                yield module, "out", _parts({"o_proj": module.out.out_features})
            case CrossAttention():
                kept = module.kv_heads * module.size
                yield module, "q", _parts({"q_proj": module.q.out_features})
                yield module, "kv", _parts({"k_proj": kept, "v_proj": kept})
                yield module, "out", _parts({"o_proj": module.out.out_features})
            case FeedForward():
                half = module.up.out_features // 2
                gated = {"gate_proj": half, "up_proj": half}
                plain = {"up_proj": module.up.out_features}
                yield module, "up", _parts(gated if module.activation in GATED else plain)
                yield module, "down", _parts({"down_proj": module.down.out_features})


def _parts(rows: Mapping[str, int]) -> tuple[Part, ...]:
    return tuple(Part(name, count, adapted=False) for name, count in rows.items())


def adapted_maps(model: nn.Module) -> Iterator[Adapted]:
    """The maps that have adapters, in the order of the model."""
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            yield Adapted(name, module)


def described(model: Transformer, config: LoraAdapter) -> str:
    """One line on what is trained."""
    maps = [*adapted_maps(model)]
    count = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    return (
        f"LoRA of rank {config.rank} on {sum(len(each.linear.lora_b) for each in maps)} maps, times {config.scale:g}: "
        f"{count:,} of {model.num_parameters():,} parameters are trained"
    )


def narrow_frozen(model: Transformer, dtype: torch.dtype) -> None:
    """Keeps frozen matrices in the precision in which autocast multiplies them: the same products from half the memory.
    Norms and biases stay as they are."""
    for name, weight in model.named_parameters():
        if name in model.frozen and weight.ndim == 2:
            weight.data = weight.data.to(dtype)


def weight_of(linear: nn.Linear) -> Float[Tensor, "out dim"]:
    """The matrix that computes what a map does, its adapter merged where it has one."""
    return linear.merged() if isinstance(linear, LoraLinear) else linear.weight


def checkpoint_weights(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds of a model: the adapter where it has one, since the rest is where it came from; else
    everything."""
    everything = model.state_dict()
    if not any(True for _ in adapted_maps(model)):
        return everything
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    return {name: tensor for name, tensor in everything.items() if name in trained}


def load_checkpoint_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Puts what `checkpoint_weights` gave, or everything, into a model that has all the rest; RuntimeError where names
    or shapes are others."""
    wanted = checkpoint_weights(model)
    if len(wanted) == len(model.state_dict()) or tensors.keys() != wanted.keys():
        model.load_state_dict(tensors)
        return
    model.load_state_dict(tensors, strict=False)
