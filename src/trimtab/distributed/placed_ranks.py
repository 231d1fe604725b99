"""Ranks that train different components of one model: gradients are summed over the ranks that hold a component."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float64
from torch import Tensor, nn

from trimtab.distributed.torch_ranks import LONGEST_CALL, TorchRanks, in_buckets, wide


@dataclass(frozen=True, slots=True)
class ReplicatedWeights:
    """Weights of one component that the same ranks train, each with a replica."""

    component: str
    holders: tuple[int, ...]
    """These ranks, ascending."""
    weights: Mapping[str, nn.Parameter]
    """By name."""


class PlacedRanks:
    """All ranks of a step, each with the weights that it trains.

    A step sums the gradients of a component over its holders, in a process group of their own, so no other rank waits
    for them. All ranks then sum the loss and the squares of the gradients once, so that norm, verdict and clipping are
    equal on each. Weights that a rank does not train are out of date on it until `refresh`.
    """

    def __init__(
        self,
        ranks: TorchRanks,
        held: Sequence[ReplicatedWeights],
        *,
        placement: Sequence[Mapping[str, float]] = (),
        about: str = "",
    ) -> None:
        """Opens the process groups; all ranks call it with the same `held`. `placement` has the shares of work that the
        ranks were chosen by, and `about` says in words what each trains."""
        self.inner, self.placement, self.about = ranks, placement, about
        self.held = tuple(held)
        self.components = tuple(dict.fromkeys(each.component for each in held))
        self.first_holder = {name: each.holders[0] for each in held for name in each.weights}
        self.mine = tuple(each for each in held if ranks.rank in each.holders)
        self.own_names = frozenset(name for each in self.mine for name in each.weights)
        self.others = tuple(
            weight for each in held if ranks.rank not in each.holders for weight in each.weights.values()
        )
        self.groups: dict[tuple[int, ...], Any] = {}
        for holders in sorted({each.holders for each in held}):
            if 1 < len(holders) < ranks.world_size:
                self.groups[holders] = dist.new_group(list(holders), timeout=LONGEST_CALL)
        self.squares: Float64[Tensor, "components"] | None = None
        """Of the newest step: the squared norm of the gradient of each component, the same on every rank."""

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self.inner.rank

    @property
    def world_size(self) -> int:
        """How many processes there are."""
        return self.inner.world_size

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0."""
        return self.inner.is_first

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Over all ranks."""
        self.inner.sum_tensors(tensors)

    def sum_ints(self, numbers: Sequence[int], *, patient: bool = False) -> list[int]:
        """Over all ranks."""
        return self.inner.sum_ints(numbers, patient=patient)

    def gather(self, content: Any) -> list[Any]:
        """From all ranks."""
        return self.inner.gather(content)

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """To all ranks."""
        self.inner.broadcast(tensors)

    def barrier(self) -> None:
        """For all ranks."""
        self.inner.barrier()

    @torch.no_grad()
    def sum_gradients(self) -> Float64[Tensor, "components"]:
        """Replaces the gradients of the components that this rank holds by their sums over the holders, and gives, of
        those that no earlier rank holds, the squared norms."""
        sent: list[tuple[Any, Tensor, list[Tensor]]] = []
        device = next(iter(self.mine[0].weights.values())).device
        squares = torch.zeros(len(self.components), dtype=torch.float64, device=device)
        with self.collective(device):
            # All reductions are under way before the first is waited for: one with a late rank does not hold up others.
            for each in self.mine:
                for bucket in in_buckets(_gradients(each)) if len(each.holders) > 1 else ():
                    flat = torch.cat([wide(gradient).reshape(-1) for gradient in bucket])
                    group = self.groups.get(each.holders)
                    sent.append((dist.all_reduce(flat, group=group, async_op=True), flat, bucket))
            for work, flat, bucket in sent:
                work.wait()
                sizes = [gradient.numel() for gradient in bucket]
                for gradient, total in zip(bucket, flat.split(sizes), strict=True):
                    gradient.copy_(total.view_as(gradient))
        for each in self.mine:
            if each.holders[0] == self.rank and (gradients := _gradients(each)):
                norms = torch.stack(torch._foreach_norm(gradients)).double()
                squares[self.components.index(each.component)] += norms.square().sum()
        return squares

    def squares_of_step(self) -> Float64[Tensor, "components"]:
        """The squared norm of the gradient of each component in the newest step, over all ranks."""
        assert self.squares is not None, "gradients are summed before they are clipped"
        return self.squares

    def train_own(self) -> None:
        """From here on no gradient of weights that other ranks train is computed, nor state of them kept."""
        for weight in self.others:
            weight.requires_grad, weight.grad = False, None

    @torch.no_grad()
    def refresh(self) -> None:
        """Brings the weights of every rank up to date; all ranks make this call."""
        device = next(iter(self.mine[0].weights.values())).device
        with self.collective(device):
            for each in self.held:
                for weight in each.weights.values() if len(each.holders) < self.world_size else ():
                    dist.broadcast(weight.data, src=each.holders[0])

    @torch.no_grad()
    def whole(self, tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
        """On rank 0, where `keep` is true, the weights or optimizer states of all ranks by name, each from its first
        holder; `tensors` are those of this rank. Those of other ranks lie in host memory, since the GPU of rank 0 may
        not have room for all of them. All ranks make this call."""
        mine = {
            name: [list(tensor.shape), str(tensor.dtype).removeprefix("torch.")]
            for name, tensor in tensors.items()
            if self._source_of(name) == self.rank
        }
        kept = {name: tensor for name, tensor in tensors.items() if self._source_of(name) in (None, 0)}
        listed = self.gather(mine)
        device = next(iter(self.mine[0].weights.values())).device
        with self.collective(device):
            for rank, own in enumerate(listed):
                for name, (shape, dtype) in own.items() if rank and self.rank in (0, rank) else ():
                    if self.rank == rank:
                        dist.send(tensors[name].contiguous(), dst=0)
                    else:
                        received = torch.empty(shape, dtype=getattr(torch, dtype), device=device)
                        dist.recv(received, src=rank)
                        if keep:
                            kept[name] = received.to("cpu", copy=True)
        return kept if keep else {}

    def own_states(self, saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Those of saved optimizer states that belong to the weights of this rank, or to no weight."""
        return {
            name: tensor
            for name, tensor in saved.items()
            if (weight := self._weight_of(name)) is None or weight in self.own_names
        }

    @contextmanager
    def collective(self, device: torch.device) -> Generator[None]:
        """One collective call to the watch, though only some of the ranks take part in it."""
        with self.inner.collective(on=device) or nullcontext():
            yield

    def _weight_of(self, name: str) -> str | None:
        """The weight that a tensor of this name is, or is a state of."""
        return next((each for each in (name, name.rpartition(".")[0]) if each in self.first_holder), None)

    def _source_of(self, name: str) -> int | None:
        weight = self._weight_of(name)
        return None if weight is None else self.first_holder[weight]


def _gradients(held: ReplicatedWeights) -> list[Tensor]:
    return [weight.grad for weight in held.weights.values() if weight.grad is not None]
