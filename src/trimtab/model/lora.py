"""LoRA: linear maps whose weights stay as they are, with a trained product of two thin matrices beside them.

Source: Hu et al. 2021, arXiv 2106.09685, section 4.1.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.adapter import LoraAdapter
from trimtab.errors import input_error
from trimtab.model.block import CrossAttention, SelfAttention
from trimtab.model.feed_forward import GATED, FeedForward
from trimtab.model.four_bit import FourBitLinear, four_bit_maps, pack_maps, set_plain
from trimtab.model.low_rank import with_low_rank
from trimtab.model.transformer import Transformer
from trimtab.units import counted

Own = TypeVar("Own", bound=nn.Module)


class Part(NamedTuple):
    """Rows of a fused map that are a map of their own elsewhere."""

    name: str
    """As transformers and PEFT call it."""
    rows: int
    adapted: bool


@runtime_checkable
class OfTransformers(Protocol):
    """A model whose layers are a module of transformers: it names its own linear maps."""

    frozen: frozenset[str]
    begins_zero: frozenset[str]

    def fused_maps(self) -> Iterator[tuple[nn.Module, str, tuple[Part, ...]]]:
        """Each linear map of the layers: its owner, its name there, and what it is; none is fused with others."""
        ...

    def packs(self, attribute: str) -> bool:
        """Whether maps of this name are ever packed in 4 bits."""
        ...

    def num_parameters(self) -> int:
        """Numbers in its weights."""
        ...

    @property
    def head_names(self) -> frozenset[str]:
        """Names of the weights that begin untrained, and are trained in full beside an adapter."""
        ...


class LoraLinear(nn.Linear):
    """A linear map with the product added. Its own weight and bias keep their names and are frozen.

    Where maps are fused, each of them has matrices of its own, as PEFT has them: `lora_a` holds the first ones of all,
    one below another, so that they are one product; `lora_b` has one map for each. With DoRA (arXiv 2402.09353,
    equations 5 and 11) `magnitude` has the length of each adapted row of the matrix.
    """

    def __init__(
        self, linear: nn.Linear, parts: tuple[Part, ...], *, rank: int, scale: float, dora: bool = False
    ) -> None:
        """Takes over the weight and the bias of `linear`, on their device; one in 4 bits stays below."""
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.bias = linear.bias
        self.four_bit = linear if isinstance(linear, FourBitLinear) else None
        device = linear.code.device if isinstance(linear, FourBitLinear) else linear.weight.device
        if self.four_bit is None:
            self.weight = linear.weight
        else:
            set_plain(self, linear.weight)
        self.parts, self.rank, self.scale = parts, rank, scale
        adapted = [part for part in parts if part.adapted]
        self.lora_a = nn.Linear(linear.in_features, rank * len(adapted), bias=False, device=device)
        self.lora_b = nn.ModuleList(nn.Linear(rank, part.rows, bias=False, device=device) for part in adapted)
        rows = sum(part.rows for part in adapted)
        self.magnitude = nn.Parameter(torch.ones(rows, device=device)) if dora else None
        self.is_on = True
        """Whether the adapter computes; without it the map is that of the base."""

    def forward(self, input: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows out"]:
        """Each vector by itself."""
        bias = self.bias if self.magnitude is None else None
        if self.four_bit is not None:
            mapped = self.four_bit.product(input)
            if self.is_on:
                mapped = mapped + F.linear(self.lora_a(input), self.second())
        elif self.is_on:
            mapped = with_low_rank(input, self.weight, self.lora_a.weight, self.second(), bias)
        else:
            mapped = F.linear(input, self.weight, bias)
        if self.is_on and self.magnitude is not None:
            mapped = mapped * self._of_all_rows(self.magnitude / self._lengths(), 1.0).to(mapped.dtype)
        if self.bias is None or (self.four_bit is None and self.magnitude is None):
            return mapped
        return mapped + self.bias.to(mapped.dtype)

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

    def _of_all_rows(self, adapted: Tensor, other: float) -> Tensor:
        """Numbers of the adapted rows, with another for each of the rest."""
        if all(part.adapted for part in self.parts):
            return adapted
        pieces = list(adapted.split([part.rows for part in self.parts if part.adapted]))
        return torch.cat(
            [pieces.pop(0) if part.adapted else adapted.new_full((part.rows,), other) for part in self.parts]
        )

    @torch.no_grad()
    def _lengths(self) -> Float[Tensor, "adapted_rows"]:
        """The length of each adapted row of `weight + scale * B A`, in float32, which the gradient takes for a
        constant (section 4.3). The product itself is never made: |w + s b|^2 = |w|^2 + 2 s w.b + s^2 |b|^2, each by
        thin matrices."""
        matrix = self.base_matrix(self.lora_a.weight.dtype if self.four_bit is not None else None)
        found: list[Tensor] = []
        number, start = 0, 0
        with torch.autocast(self.lora_a.weight.device.type, enabled=False):
            for part in self.parts:
                rows = matrix[start : start + part.rows]
                start += part.rows
                if not part.adapted:
                    continue
                a = self.lora_a.weight[number * self.rank : (number + 1) * self.rank]
                b = self.lora_b[number].weight.float()
                number += 1
                mixed = ((rows @ a.to(rows.dtype).T).float() * b).sum(1)
                own = ((b @ (a.float() @ a.float().T)) * b).sum(1)
                squares = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float32).square()
                found.append((squares + 2 * self.scale * mixed + self.scale**2 * own).sqrt())
        return torch.cat(found)

    def base_matrix(self, dtype: torch.dtype | None = None) -> Float[Tensor, "out dim"]:
        """The frozen matrix, unpacked where it is packed."""
        if self.four_bit is not None:
            return self.four_bit.matrix(dtype or torch.float32)
        return self.weight if dtype is None else self.weight.to(dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LoraLinear":
        """Lengths keep their precision: one that is rounded would stretch a whole row."""
        held = None if self.magnitude is None else self.magnitude.detach()
        super()._apply(fn, recurse)
        if self.magnitude is not None and held is not None:
            self.magnitude.data = held.to(self.magnitude.device)
        return self

    @torch.no_grad()
    def begin(self) -> None:
        """Makes the map compute what its base does, whose weights are there by now."""
        for each in self.lora_b:
            each.weight.zero_()
        if self.magnitude is not None:
            self.magnitude.copy_(self._lengths())

    @torch.no_grad()
    def merged(self) -> Float[Tensor, "out dim"]:
        """The one matrix that computes the same, in float32 or wider."""
        base = self.base_matrix()
        wide = torch.promote_types(base.dtype, torch.float32)
        first = iter(self.lora_a.weight.to(wide).split(self.rank))
        maps = iter(self.lora_b)
        pieces = [
            next(maps).weight.to(wide) @ next(first)
            if part.adapted
            else base.new_zeros(part.rows, self.in_features, dtype=wide)
            for part in self.parts
        ]
        matrix = base.to(wide) + self.scale * torch.cat(pieces)
        if self.magnitude is None:
            return matrix
        lengths = matrix.norm(dim=1).split([part.rows for part in self.parts])
        adapted = torch.cat([each for part, each in zip(self.parts, lengths, strict=True) if part.adapted])
        return matrix * self._of_all_rows(self.magnitude.to(wide) / adapted, 1.0).unsqueeze(1)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A map that has an adapter."""

    name: str
    """Of the fused map in the model."""
    linear: LoraLinear


def add_lora(
    model: Transformer | OfTransformers,
    config: LoraAdapter,
    *,
    seed: int,
    device: torch.device | None = None,
) -> None:
    """Freezes the model, but for an untrained head, and gives the chosen maps of its layers their adapters. It computes
    what it did before: the second matrices are zero, the first ones drawn as PEFT does, uniform within 1 /
    sqrt(inputs).

    Matrices that `quantize_base` packs are packed on `device` by `begin_adapter`, when their weights are there. Raises
    InputError where the model has no map of these names.
    """
    generator = torch.Generator().manual_seed(seed)
    assert isinstance(model, nn.Module), "every model is one"
    trained = tables_of(model) if config.embeddings == "train" else frozenset[str]()
    trained |= model.head_names if isinstance(model, OfTransformers) else frozenset()
    for name, weight in model.named_parameters():
        weight.requires_grad = name in trained
    frozen = {name for name, _ in model.named_parameters()} - trained
    there: set[str] = set()
    for owner, attribute, parts in [*fused_maps(model)]:
        there |= {part.name for part in parts}
        if config.quantize_base == "nf4" and (
            not isinstance(model, OfTransformers) or model.packs(attribute)
        ):
            linear = getattr(owner, attribute)
            rows = tuple(part.rows for part in parts)
            setattr(owner, attribute, FourBitLinear(linear, rows, device=device or linear.weight.device))
        chosen = tuple(part._replace(adapted=part.name in config.names) for part in parts)
        if not any(part.adapted for part in chosen):
            continue
        made = LoraLinear(
            getattr(owner, attribute), chosen, rank=config.rank, scale=config.scale, dora=config.dora
        )
        bound = 1 / math.sqrt(made.in_features)
        with torch.no_grad():
            drawn = torch.rand(made.lora_a.weight.shape, generator=generator)
            made.lora_a.weight.copy_((drawn * 2 - 1) * bound)
        made.begin()
        setattr(owner, attribute, made)
    if missing := [name for name in config.names if name not in there and config.targets != "all_linear"]:
        raise input_error(
            "adapter.targets: the model has no such maps",
            got=", ".join(missing),
            allowed=", ".join(sorted(there)),
            fix="leave them out, or set `adapter.targets: all_linear`",
        )
    model.frozen = frozenset(frozen & {name for name, _ in model.named_parameters()})
    model.begins_zero = frozenset(
        f"{each.name}.lora_b.{number}.weight"
        for each in adapted_maps(model)
        for number in range(len(each.linear.lora_b))
    )


def begin_adapter(model: nn.Module) -> None:
    """Packs what is to be packed and fits new adapters to the weights that the base has by now."""
    pack_maps(model)
    for each in adapted_maps(model):
        if each.linear.four_bit is not None:
            set_plain(each.linear, each.linear.four_bit.weight)
        each.linear.begin()


def cast_adapter(model: nn.Module, dtype: torch.dtype) -> None:
    """Brings adapters into the precision of a model that is not trained."""
    for each in adapted_maps(model):
        each.linear.lora_a.to(dtype)
        each.linear.lora_b.to(dtype)


def tables_of(model: nn.Module) -> frozenset[str]:
    """Names of the embeddings, and of an output matrix of its own."""
    return frozenset(
        f"{name}.weight" for name, each in model.named_children() if isinstance(each, nn.Embedding)
    )


def fused_maps(model: nn.Module) -> Iterator[tuple[nn.Module, str, tuple[Part, ...]]]:
    """Every linear map of the layers: its owner, its name there, and the maps that are fused in it."""
    if isinstance(model, OfTransformers):
        yield from model.fused_maps()
        return
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


def lengths_of_rows(model: nn.Module) -> frozenset[str]:
    """Names of the lengths that DoRA trains, which keep their precision."""
    return frozenset(
        f"{each.name}.magnitude" for each in adapted_maps(model) if each.linear.magnitude is not None
    )


def adapted_maps(model: nn.Module) -> Iterator[Adapted]:
    """The maps that have adapters, in the order of the model."""
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            yield Adapted(name, module)


def described(model: Transformer | OfTransformers, config: LoraAdapter) -> str:
    """One line on what is trained."""
    assert isinstance(model, nn.Module), "every model is one"
    maps = [*adapted_maps(model)]
    packed = four_bit_maps(model)
    count = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    kind = "DoRA" if config.dora else "rsLoRA" if config.rslora else "LoRA"
    also = ", and the embeddings in full" if config.embeddings == "train" else ""
    if isinstance(model, OfTransformers) and model.head_names:
        also += ", and the head in full"
    bits = f"; {len(packed)} frozen matrices are kept in 4 bits" if packed else ""
    return (
        f"{kind} of rank {config.rank} on {counted(sum(len(each.linear.lora_b) for each in maps), 'map')}, times "
        f"{config.scale:g}{also}: {count:,} of {model.num_parameters():,} parameters are trained{bits}"
    )


def narrow_frozen(model: Transformer, dtype: torch.dtype) -> None:
    """Keeps frozen matrices in the precision in which autocast multiplies them: the same products from half the memory.
    Norms and biases stay as they are.

    All of them leave the device before one comes back: narrowed one by one in its memory, they would keep the blocks of
    the wide ones from being given back."""
    wide = [weight for name, weight in model.named_parameters() if name in model.frozen and weight.ndim == 2]
    devices = [weight.device for weight in wide]
    for weight in wide:
        weight.data = weight.data.to("cpu", dtype)
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    for weight, device in zip(wide, devices, strict=True):
        weight.data = weight.data.to(device)


def weight_of(linear: nn.Linear) -> Float[Tensor, "out dim"]:
    """The matrix that computes what a map does, its adapter merged where it has one."""
    match linear:
        case LoraLinear():
            return linear.merged()
        case FourBitLinear():
            return linear.matrix(torch.float32)
        case _:
            return linear.weight


@contextmanager
def without_adapter(model: nn.Module) -> Iterator[None]:
    """Inside, the model computes what its base does."""
    maps = [each.linear for each in adapted_maps(model)]
    for each in maps:
        each.is_on = False
    try:
        yield
    finally:
        for each in maps:
            each.is_on = True


def merged_copy(model: Own) -> Own:
    """The model with plain linear maps, adapters merged and packed matrices unpacked in float32; all else is shared.
    A model that has neither is given back."""
    if not any(isinstance(each, LoraLinear | FourBitLinear) for each in model.modules()):
        return model
    tensors = [*model.parameters(), *model.buffers()]
    plain = copy.deepcopy(model, {id(each): each for each in tensors})
    for owner, attribute, _ in [*fused_maps(plain)]:
        linear = getattr(owner, attribute)
        if isinstance(linear, LoraLinear | FourBitLinear):
            made = nn.Linear(linear.in_features, linear.out_features, bias=False, device="meta")
            made.weight = nn.Parameter(weight_of(linear).detach())
            made.bias = linear.bias
            setattr(owner, attribute, made)
    return plain


def merged_weights(model: nn.Module) -> dict[str, Tensor]:
    """Every weight of a model by its name in one without an adapter, adapters merged."""
    maps = {
        f"{name}.weight": each
        for name, each in model.named_modules()
        if isinstance(each, LoraLinear | FourBitLinear) and not name.endswith(".four_bit")
    }
    own = {name: each for name, each in model.state_dict().items() if _is_of_base(name)}
    return {**own, **{name: weight_of(each).detach() for name, each in maps.items()}}


def base_weights(model: nn.Module) -> dict[str, Tensor]:
    """The tensors that hold the weights of a model's base, by their names in it without an adapter; those that will be
    packed are on the CPU."""
    later = {
        f"{name}.weight": each.weight
        for name, each in model.named_modules()
        if isinstance(each, FourBitLinear | LoraLinear) and not name.endswith(".four_bit")
    }
    return {**{name: each for name, each in model.state_dict().items() if _is_of_base(name)}, **later}


def _is_of_base(name: str) -> bool:
    return ".lora_" not in name and not name.endswith(".magnitude") and ".four_bit." not in name


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
