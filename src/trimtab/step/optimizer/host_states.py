"""AdamW whose moments lie in host memory, and come to the GPU for the update of their tensor."""

import copy
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

LEAST_NUMBERS = 4096
"""States of smaller tensors, and all counts of steps, stay on the GPU: they need next to no memory, and each would cost
a copy."""


@runtime_checkable
class HasStates(Protocol):
    """An optimizer that updates one tensor after another from states by name."""

    named: dict[str, nn.Parameter]
    state: dict[str, dict[str, Tensor]]

    def update_tensor(self, name: str, *, learning_rate: float | Tensor, skip: Bool[Tensor, ""]) -> None:
        """The update of one tensor from what `state` has for it."""
        ...

    def after_update(self, *, skip: Bool[Tensor, ""]) -> None:
        """Ends an update."""
        ...

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state."""
        ...


class HostStates:
    """The same updates, to the bit, as `inner` makes with states of its own: they are copied to the GPU and back.

    The states of the next tensor come while one is updated, and those before it go back meanwhile, on a stream of their
    own; at most three tensors' states are on the GPU. The arithmetic stays there, since a CPU is too slow for it, and
    the memory is page-locked, never CUDA's managed memory. As DeepSpeed's optimizer offload (arXiv 2101.06840) without
    its update on the CPU.
    """

    def __init__(self, inner: HasStates) -> None:
        self.inner = inner
        self.order: list[str] = []
        """Of the tensors in the last update, by which the next one is known: that of the backward pass where gradients
        are released."""
        self.taken: list[str] = []
        self.arriving: dict[str, tuple[dict[str, Tensor], Any]] = {}

    @property
    def named(self) -> dict[str, nn.Parameter]:
        """All that it moves, by name."""
        return self.inner.named

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves."""
        return list(self.named.values())

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true every tensor keeps its bits."""
        for name, parameter in self.named.items():
            if parameter.grad is not None:
                self.update_tensor(name, learning_rate=learning_rate, skip=skip)
        self.after_update(skip=skip)

    @torch.no_grad()
    def update_tensor(self, name: str, *, learning_rate: float | Tensor, skip: Bool[Tensor, ""]) -> None:
        """The update of one tensor, whose gradient lies on it."""
        device, stored = self.named[name].device, self.inner.state[name]
        visiting, arrived = self.arriving.pop(name, None) or fetched(stored, device)
        if arrived is not None:
            torch.cuda.current_stream(device).wait_event(arrived)
        self.inner.state[name] = visiting
        try:
            self.inner.update_tensor(name, learning_rate=learning_rate, skip=skip)
        finally:
            self.inner.state[name] = stored
        send_back(visiting, stored, device)
        self.taken.append(name)
        following = self.next_of(name)
        if following is not None and following not in self.arriving:
            self.arriving[following] = fetched(self.inner.state[following], self.named[following].device)

    def next_of(self, name: str) -> str | None:
        """The tensor that came after this one in the last update; of the first update, none is known."""
        place = len(self.taken)
        known = place < len(self.order) and self.order[place - 1] == name
        return self.order[place] if known else None

    def after_update(self, *, skip: Bool[Tensor, ""]) -> None:
        """Ends an update, once every tensor with a gradient had its own."""
        self.inner.after_update(skip=skip)
        self.order, self.taken = self.taken, []
        self.arriving.clear()  # of a tensor that had no gradient this time

    def state_tensors(self) -> dict[str, Tensor]:
        """Moments and counts by parameter name, where they lie, once all copies to there have ended."""
        self.wait()
        return {
            f"{name}.{key}": value for name, state in self.inner.state.items() for key, value in state.items()
        }

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state, which is copied to where the states lie: the host."""
        self.wait()
        self.inner.load_state_tensors(saved)

    def wait(self) -> None:
        """Until no copy is under way, and forgets what came ahead."""
        self.arriving.clear()
        for device in {each.device for each in self.named.values() if each.is_cuda}:
            copies(device).synchronize()

    def __deepcopy__(self, memo: dict[int, Any]) -> "HostStates":
        self.wait()  # events cannot be copied
        return HostStates(copy.deepcopy(self.inner, memo))


@cache
def copies(device: torch.device) -> "torch.cuda.Stream":
    """The stream of a GPU on which states come and go, in order: what goes back has arrived before it comes again."""
    return torch.cuda.Stream(device)


def on_host(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The state of a tensor before its first update, its large parts in host memory: page-locked where it came from a
    GPU, so that copies need not wait for each other."""
    return {key: _on_host(value) if is_large(value) else value for key, value in state.items()}


def _on_host(value: Shaped[Tensor, "*shape"]) -> Shaped[Tensor, "*shape"]:
    if not value.is_cuda:
        return value
    stored = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
    return stored.copy_(value)


def is_large(value: Shaped[Tensor, "..."]) -> bool:
    """Whether a part of a state is kept on the host."""
    return value.numel() >= LEAST_NUMBERS


def fetched(stored: dict[str, Tensor], device: torch.device) -> tuple[dict[str, Tensor], Any]:
    """Copies of the large parts of a state on a device, and the event after which they are there; None on a CPU, whose
    copies are there at once."""
    if device.type != "cuda":
        return {key: value.clone() if is_large(value) else value for key, value in stored.items()}, None
    stream = copies(device)
    with torch.cuda.stream(stream):
        visiting = {
            key: value.to(device, non_blocking=True) if is_large(value) else value
            for key, value in stored.items()
        }
        arrived = stream.record_event()
    return visiting, arrived


def send_back(visiting: dict[str, Tensor], stored: dict[str, Tensor], device: torch.device) -> None:
    """Copies what an update has changed to where it is kept."""
    large = [(visiting[key], value) for key, value in stored.items() if is_large(value)]
    if device.type != "cuda":
        for changed, value in large:
            value.copy_(changed)
        return
    stream = copies(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for changed, value in large:
            # `changed` comes from this stream's memory, so that nothing is put there before the copy has ended.
            value.copy_(changed, non_blocking=True)
