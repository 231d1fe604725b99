"""A model whose weights are divided among ranks by PyTorch's `fully_shard` (FSDP2), and what this rank holds of it."""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from trimtab.errors import input_error

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

NORMS = (nn.LayerNorm, nn.RMSNorm)
"""Their gains stay whole on every rank, in float32: they are few, and a norm computes in the precision of its gain."""


@dataclass(frozen=True, slots=True)
class Sharding:
    """How a model is divided: its whole shape, and the mesh of ranks that hold the parts."""

    mesh: "DeviceMesh"
    training: nn.Module
    """The module that runs the model and its loss."""
    shape: nn.Module
    """The model as it was before, its parameters on the `meta` device, where tensors have no values."""
    never_narrowed: frozenset[str] = frozenset()
    """Names of weights that keep their precision in copies of another."""

    def local_view(self, model: nn.Module) -> nn.Module:
        """The model as this rank holds it: the same names and kinds of modules, with parameters that are plain tensors
        in the memory of this rank's parts. It is not to be run."""
        return _local(model, {}, {})

    def reshard(self) -> None:
        """Leaves each rank with its parts. A backward pass does so by itself; after a forward pass alone, the last
        layer and what is gathered with embeddings would stay whole, and the model's parameters be others."""
        for module in self.training.modules():
            if hasattr(module, "unshard"):
                module.reshard()  # type: ignore[operator]

    def whole(self, tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
        """The tensors put together, in host memory where `keep` says so, tensor by tensor; all ranks make this call.
        Without `keep` nothing is kept."""
        kept: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            full = whole_of(tensor)
            if keep:
                kept[name] = full.cpu() if is_divided(tensor) else full
        return kept

    @torch.no_grad()
    def load(self, mine: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
        """Puts whole tensors into those of this rank. RuntimeError where names or shapes are others."""
        if mine.keys() != saved.keys():
            raise RuntimeError(f"the weights differ in {sorted(mine.keys() ^ saved.keys())[:5]}")
        for name, tensor in mine.items():
            if tensor.shape != saved[name].shape:
                raise RuntimeError(f"{name} has shape {tuple(saved[name].shape)}, not {tuple(tensor.shape)}")
            own_part(tensor).copy_(self.part_of(saved[name]) if is_divided(tensor) else saved[name])

    def part_of(self, tensor: Tensor) -> Tensor:
        """What this rank holds of a whole tensor, cut as `fully_shard` cuts it: in rows, perhaps none."""
        parts = tensor.chunk(self.mesh.size(), dim=0)
        rank = self.mesh.get_local_rank()
        return parts[rank] if rank < len(parts) else tensor[:0]

    def as_part(self, local: Tensor, of: Tensor) -> Tensor:
        """A tensor of this rank, such as a moment, as its part of a whole that is shaped like a parameter."""
        from torch.distributed.tensor import DTensor, Shard

        return DTensor.from_local(
            local, self.mesh, [Shard(0)], run_check=False, shape=of.shape, stride=of.stride()
        )

    @torch.no_grad()
    def plain_copy(
        self, model: nn.Module, *, dtype: torch.dtype | None, replaced: Mapping[str, Tensor] | None = None
    ) -> Any:
        """The whole model on every rank, its weights in `dtype` where one is given, but for those that keep their
        precision; `replaced` has parts of other weights by name, such as averages. No weight of the copy is trained,
        so it has no gradients. All ranks make this call."""
        plain: Any = copy.deepcopy(self.shape)
        buffers = dict(model.named_buffers())
        others = replaced or {}
        for name, weight in model.named_parameters():
            weight = others.get(name, weight)
            full = whole_of(weight)
            kept = full.dtype if dtype is None or name in self.never_narrowed else dtype
            _put(plain, name, nn.Parameter(full.to(kept, copy=True), requires_grad=False))
        for name, buffer in buffers.items():
            _put(plain, name, buffer.clone())
        return plain


def shard(
    training: nn.Module,
    model: nn.Module,
    blocks: Sequence[nn.Module],
    *,
    compute: torch.dtype | None,
    device: torch.device,
    never_narrowed: Collection[str] = (),
) -> Sharding:
    """Divides the weights of `training`, which runs `model` and its loss, among all ranks: each block by itself, the
    rest, such as embeddings and an output matrix tied to them, together.

    Weights that are trained and their sums of gradients are float32; frozen ones keep their precision and have no
    gradients. `compute` is the precision in which blocks are gathered; None for that of the weights. Gradients are sums
    over ranks, not means. `never_narrowed` names weights whose precision copies keep. Raises InputError for trained
    weights in another precision.
    """
    # Late: only who divides a model needs it.
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

    if strange := {str(each.dtype) for each in model.parameters() if each.requires_grad} - {"torch.float32"}:
        raise input_error(
            "parallel: {kind: fsdp} trains weights in float32",
            got=", ".join(sorted(strange)),
            allowed="step.precision: bf16_mixed, fp16_mixed, tf32 or fp32",
            fix="set `step.precision: bf16_mixed`",
        )
    valueless: dict[int, Any] = {
        id(each): nn.Parameter(each.detach().to("meta"), requires_grad=each.requires_grad)
        for each in model.parameters()
    }
    shape = copy.deepcopy(model, valueless)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    whole = {weight for each in model.modules() if isinstance(each, NORMS) for weight in each.parameters()}
    policy = MixedPrecisionPolicy(param_dtype=compute, reduce_dtype=torch.float32, cast_forward_inputs=False)
    for block in blocks:
        # The last one is needed again at once, by its backward pass.
        fully_shard(
            block,
            mesh=mesh,
            mp_policy=policy,
            reshard_after_forward=block is not blocks[-1],
            ignored_params={weight for weight in block.parameters() if weight in whole},
        )
    rest = MixedPrecisionPolicy(reduce_dtype=torch.float32, cast_forward_inputs=False)
    fully_shard(training, mesh=mesh, mp_policy=rest, ignored_params=whole)
    for module in training.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            if device.type == "cpu":
                module.set_force_sum_reduction_for_comms(True)  # else a product with 1, which Gloo has not
    return Sharding(mesh, training, shape, frozenset(never_narrowed))


def is_divided(tensor: Tensor) -> bool:
    """Whether a tensor is a DTensor, of which this rank holds a part."""
    return hasattr(tensor, "full_tensor")


def whole_of(tensor: Any) -> Tensor:
    """The tensor put together from the parts of all ranks, which make this call together; others as they are."""
    return tensor.full_tensor().detach() if is_divided(tensor) else tensor.detach()


def own_part(tensor: Any) -> Tensor:
    """What this rank holds of a tensor, in the same memory: a part where it is divided, else all."""
    return tensor.to_local() if is_divided(tensor) else tensor


def _local(module: nn.Module, modules: dict[int, nn.Module], weights: dict[int, nn.Parameter]) -> nn.Module:
    if id(module) in modules:
        return modules[id(module)]
    # `fully_shard` puts a class of its own and FSDPModule before that of the module.
    kind = type(module).__mro__[2] if hasattr(module, "unshard") else type(module)
    view: Any = kind.__new__(kind)  # type: ignore[call-overload]
    modules[id(module)] = view
    view.__dict__.update(module.__dict__)
    view._parameters = {
        name: None if each is None else _local_weight(each, weights)
        for name, each in module._parameters.items()
    }
    view._modules = {
        name: None if each is None else _local(each, modules, weights)
        for name, each in module._modules.items()
    }
    return view


def _local_weight(weight: nn.Parameter, weights: dict[int, nn.Parameter]) -> nn.Parameter:
    if not is_divided(weight):
        return weight
    if id(weight) not in weights:
        weights[id(weight)] = nn.Parameter(own_part(weight.detach()), requires_grad=weight.requires_grad)
    return weights[id(weight)]


def _put(module: nn.Module, name: str, tensor: Tensor) -> None:
    """Puts a parameter or a buffer in the place of another, everywhere that it stands."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    old = owner._parameters.get(last)
    if old is None:
        owner._buffers[last] = tensor
        return
    assert isinstance(tensor, nn.Parameter)
    for each in module.modules():
        for key, weight in each._parameters.items():
            if weight is old:
                each._parameters[key] = tensor


class ShardedOptimizer:
    """Another optimizer, over the parts that this rank holds; see `step.optimizer.protocol.Optimizer`. Its state is
    whole outside: all ranks read it and load it together."""

    def __init__(self, sharding: Sharding, model: nn.Module, build: Callable[[nn.Module], Any]) -> None:
        """`build` makes the optimizer of a model."""
        self.sharding = sharding
        view = sharding.local_view(model)
        self.inner = build(view)
        self.named = {name: each for name, each in model.named_parameters() if each.requires_grad}
        parts = dict(view.named_parameters())
        self.pairs = [(weight, parts[name]) for name, weight in self.named.items()]

    @property
    def parameters(self) -> Sequence[Tensor]:
        """The model's own, whose gradients it takes."""
        return list(self.named.values())

    def update(self, *, learning_rate: float | Tensor, skip: Tensor) -> None:
        """One update of the parts of this rank; `skip` is the same on every rank."""
        for weight, part in self.pairs:
            grad = weight.grad
            part.grad = None if grad is None else own_part(grad)
        self.inner.update(learning_rate=learning_rate, skip=skip)
        for weight, part in self.pairs:
            if part is not weight:
                part.grad = None

    def state_tensors(self) -> dict[str, Tensor]:
        """What the optimizer keeps, by name, as parts of wholes."""
        return {name: self._as_part(name, tensor) for name, tensor in self.inner.state_tensors().items()}

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from whole tensors; strict about names and shapes."""
        mine = {
            name: self.sharding.part_of(tensor) if self._weight_of(name, tensor) is not None else tensor
            for name, tensor in saved.items()
        }
        self.inner.load_state_tensors(mine)

    def averages(self, prefix: str) -> dict[str, Tensor]:
        """State that is named after weights behind a prefix, by the name of its weight."""
        return {
            name.removeprefix(prefix): tensor
            for name, tensor in self.state_tensors().items()
            if name.startswith(prefix) and name.removeprefix(prefix) in self.named
        }

    def _as_part(self, name: str, tensor: Tensor) -> Tensor:
        weight = self._weight_of(name, tensor)
        return tensor if weight is None else self.sharding.as_part(tensor, weight)

    def _weight_of(self, name: str, tensor: Tensor) -> Tensor | None:
        """The parameter that a tensor of the state belongs to, row by row; None where it is not divided."""
        if not tensor.ndim:
            return None
        bare = name.removeprefix("ema.weights.")
        weight = self.named.get(bare) if bare != name else self.named.get(name.rpartition(".")[0])
        return weight if weight is not None and is_divided(weight) else None
