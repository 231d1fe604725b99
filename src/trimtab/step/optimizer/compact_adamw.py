"""AdamW and StableAdamW with states in 16, 8 or 4 bits, on weights in float32 or bfloat16; one tensor at a time."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.config.optimizers import StableAdamW as StableConfig
from trimtab.gpu.triton_runs import triton_runs_on
from trimtab.step.groups import parameter_groups
from trimtab.step.multipliers import RoleOf, multiplied, multipliers_of
from trimtab.step.optimizer import block_states as blocks
from trimtab.step.optimizer.saved_state import copy_saved_state

BITS = {"float32": 32, "bfloat16": 16, "8bit": 8, "4bit": 4}
LEAST_NUMBERS = 4096
"""Smaller tensors keep states in float32, and what bfloat16 rounds off their weights: norms and biases cost nothing,
and gains are near one, where bfloat16 has steps of 1/128."""
AT_ONCE = 1 << 22
"""Numbers of a tensor whose copies in float32 are alive at a time without the kernel; a multiple of a block."""


MOST_APART = 0.02
"""Share of the results of the kernel that may differ from those of its twin: a code is another one where a product was
rounded otherwise just at its border."""


class Rates(NamedTuple):
    """What an update of one tensor needs beside it, each a float32 on the device."""

    rate: Float[Tensor, ""]
    decay: Float[Tensor, ""]
    """Share of the weight that is taken off."""
    first_bias: Float[Tensor, ""]
    """1 - beta1^t."""
    second_bias: Float[Tensor, ""]
    skip: Float[Tensor, ""]
    """1 where nothing is to change, else 0."""


class Decays(NamedTuple):
    """Settings of the moments."""

    first: float
    second: float
    eps: float


class CompactAdamW:
    """Source: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2; for StableAdamW, Wortsman et al., arXiv 2304.13013,
    algorithm 2; states as in `block_states`, weights in bfloat16 as in arXiv 2502.20566.

    What is drawn for rounding follows from the number of the update and of the tensor, so a resumed run draws the same.
    On a GPU one Triton kernel does it in place; elsewhere, and in `move_slices`, plain operations do.
    """

    def __init__(
        self,
        config: AdamWConfig,
        model: nn.Module,
        *,
        role_of: RoleOf | None = None,
        keep: Callable[[dict[str, Tensor]], dict[str, Tensor]] | None = None,
    ) -> None:
        """`keep` moves the state of each tensor as soon as it is made."""
        decayed, plain = parameter_groups(model)
        self.decay = {**dict.fromkeys(decayed, config.weight_decay), **dict.fromkeys(plain, 0.0)}
        self.named = {**decayed, **plain}
        self.multipliers = multipliers_of(config.learning_rate_multipliers, self.named, role_of=role_of)
        self.numbers = {name: number for number, name in enumerate(sorted(self.named))}
        self.bits, self.stable = BITS[config.states], isinstance(config, StableConfig)
        self.decays = Decays(*config.betas, config.eps)
        keeps = config.weights == "24bit"
        self.state: dict[str, dict[str, Tensor]] = {}
        for name, parameter in self.named.items():
            state = zero_state(parameter, bits=self.bits, keeps=keeps)
            self.state[name] = state if keep is None else keep(state)

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

    @torch.no_grad()
    def update_tensor(self, name: str, *, learning_rate: float | Tensor, skip: Bool[Tensor, ""]) -> None:
        """The update of one tensor, whose gradient lies on it."""
        parameter, state = self.named[name], self.state[name]
        assert parameter.grad is not None, name
        rates = self.rates_of(name, learning_rate=learning_rate, skip=skip)
        seed = blocks.seed_of(state["step"], self.numbers[name])
        whole = "exp_avg_scale" not in state and state["exp_avg"].dtype == torch.float32
        move = move_slices
        keeps = "rounded_off" in state
        if not whole and kernel_works_on(
            parameter.device, bits=self.bits, dtype=parameter.dtype, keeps=keeps
        ):
            from trimtab.step.optimizer.adamw_kernels import move  # late: needs Triton
        move(parameter, state, rates, seed, decays=self.decays, stable=self.stable)
        state["step"].add_(1 - rates.skip)
        torch.autograd.graph.increment_version(parameter)  # a kernel's writes are not seen by autograd

    def after_update(self, *, skip: Bool[Tensor, ""]) -> None:
        """Nothing: each tensor counts its own updates."""

    def rates_of(self, name: str, *, learning_rate: float | Tensor, skip: Bool[Tensor, ""]) -> Rates:
        """The rates of the update at hand."""
        count = self.state[name]["step"].double() + 1
        rate = multiplied(learning_rate, self.multipliers[name])
        rate = rate.double() if isinstance(rate, Tensor) else torch.full_like(count, rate)
        # In float32 1 - beta^t loses its digits where beta is near 1.
        biases = [1 - beta**count for beta in self.decays[:2]]
        found = torch.stack([rate, rate * self.decay[name], *biases, skip.double()]).float()
        return Rates(*found.unbind())

    def state_tensors(self) -> dict[str, Tensor]:
        """Codes, scales and counts by parameter name."""
        return {f"{name}.{key}": value for name, state in self.state.items() for key, value in state.items()}

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state, in the same storage; strict about names and shapes. From nothing, what was rounded
        off the weights before is forgotten, since they may be others now."""
        copy_saved_state(self.state_tensors(), saved)
        if not saved:
            for state in self.state.values():
                if "rounded_off" in state:
                    state["rounded_off"].zero_()


def kernel_works_on(device: torch.device, *, bits: int, dtype: torch.dtype, keeps: bool = False) -> bool:
    """Whether the kernel can be used: it is tried on a small tensor, and must make of it what `move_slices` does. Warns
    where it does not, with the reason."""
    return triton_runs_on(device) and not kernel_failure(device, bits=bits, dtype=dtype, keeps=keeps)


@cache
def kernel_failure(device: torch.device, *, bits: int, dtype: torch.dtype, keeps: bool = False) -> str:
    """Why the kernel cannot be used on a device that runs Triton; empty where it can."""
    try:
        from trimtab.step.optimizer.adamw_kernels import move  # late: needs Triton

        apart = share_apart(move, device, bits=bits, dtype=dtype, keeps=keeps)
        failure = f"{apart:.2%} of its results are wrong" if apart > MOST_APART else ""
    # Of any kind: a compiler, a linker, a driver or a folder for caches may be missing.
    except Exception as error:
        failure = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    if failure:
        form = (
            f"states in {bits} bits, weights in {'24 bits' if keeps else str(dtype).removeprefix('torch.')}"
        )
        warnings.warn(
            f"updates take plain operations, since their kernel does not work for {form}: {failure}",
            stacklevel=2,
        )
    return failure


def share_apart(
    mover: Callable[..., None], device: torch.device, *, bits: int, dtype: torch.dtype, keeps: bool
) -> float:
    """The share of numbers, of the tensor with the most, that a mover makes otherwise than `move_slices` in two updates
    from the same beginning."""
    decays = Decays(0.9, 0.98, 1e-8)
    numbers = torch.linspace(-1, 1, 9 * blocks.BLOCK * 8 - 1, device=device)
    results: list[list[Tensor]] = []
    with torch.inference_mode(mode=False), torch.no_grad():
        for each in (move_slices, mover):
            weight = nn.Parameter(numbers.to(dtype, copy=True))  # moved in place: each needs its own
            state = zero_state(weight, bits=bits, keeps=keeps)
            rates = Rates(*torch.tensor([1e-2, 1e-3, 0.1, 0.02, 0.0], device=device).unbind())
            for step in (1.0, -2.0):
                weight.grad = (step * numbers.square()).to(dtype)
                seed = blocks.seed_of(state["step"], 1)
                each(weight, state, rates, seed, decays=decays, stable=True)
            results.append([weight, *state.values()])
    return max(
        float((one.float() - two.float()).abs().gt(1e-2 * two.float().abs() + 1e-6).float().mean())
        for one, two in zip(*results, strict=True)
    )


def zero_state(parameter: Tensor, *, bits: int, keeps: bool = False) -> dict[str, Tensor]:
    """The state of a tensor before its first update; `keeps` says that bfloat16 has 8 more bits beside it."""
    size, device = parameter.numel(), parameter.device
    state = {"step": torch.zeros((), device=device)}
    if keeps and parameter.dtype == torch.bfloat16 and size >= LEAST_NUMBERS:
        state["rounded_off"] = torch.zeros_like(parameter, dtype=torch.int8)
    if bits == 32 or size < LEAST_NUMBERS:
        state |= {key: torch.zeros_like(parameter, dtype=torch.float32) for key in ("exp_avg", "exp_avg_sq")}
        if parameter.dtype == torch.bfloat16 and size < LEAST_NUMBERS:
            state["rounded_off"] = torch.zeros_like(parameter, dtype=torch.float32)
        return state
    if bits == 16:
        return state | {
            key: torch.zeros_like(parameter, dtype=torch.bfloat16) for key in ("exp_avg", "exp_avg_sq")
        }
    count, columns = blocks.num_blocks(size), blocks.BLOCK * bits // 8
    first = torch.zeros(count, columns, dtype=torch.int8 if bits == 8 else torch.uint8, device=device)
    zero = 0 if bits == 8 else 17 * blocks.OFFSET  # in 4 bits its code, twice in a byte
    state["exp_avg"] = first.fill_(zero)
    state["exp_avg_scale"] = torch.zeros(count, device=device)
    state["exp_avg_sq"] = torch.zeros(count, columns, dtype=torch.uint8, device=device)
    state["exp_avg_sq_scale"] = torch.zeros(count, device=device)
    return state


def move_slices(
    parameter: Tensor, state: dict[str, Tensor], rates: Rates, seed: Tensor, *, decays: Decays, stable: bool
) -> None:
    """The update in plain operations, so many numbers at a time; the slow twin of the kernel."""
    assert parameter.grad is not None
    weights, gradient = parameter.detach().view(-1), parameter.grad.reshape(-1)
    factor = torch.ones_like(rates.rate)
    if stable:
        total = sum(
            ratio_squares(gradient[part].float(), moments(state, part)[1], rates, decays)
            for part in slices(len(weights))
        )
        factor = 1 / (torch.as_tensor(total) / len(weights)).sqrt().clamp(min=1.0)
    for part in slices(len(weights)):
        narrow = weights[part]
        chance = blocks.random_numbers(torch.arange(part.start, part.stop, device=weights.device), seed)
        off = state["rounded_off"].view(-1)[part] if "rounded_off" in state else None
        if off is None:
            wide = narrow.float()
        else:
            wide = blocks.widened(narrow, off) if off.dtype == torch.int8 else narrow.float() + off
        grad = gradient[part].float()
        first, second = moments(state, part)
        first = first * decays.first + grad * (1 - decays.first)
        second = second * decays.second + grad.square() * (1 - decays.second)
        root = (second / rates.second_bias).sqrt() + decays.eps
        moved = wide * (1 - rates.decay * factor) - rates.rate * factor * (first / rates.first_bias) / root
        skip = rates.skip > 0
        keep(state, part, first, second, chance, skip=skip)
        if off is not None:
            if off.dtype == torch.int8:
                stored, rest = blocks.split(moved, chance.weight)
            else:
                stored = moved.to(narrow.dtype).float()
                rest = moved - stored
            off.copy_(torch.where(skip, off, rest))
            moved = stored
        elif narrow.dtype == torch.bfloat16:
            moved = blocks.narrowed(moved, chance.weight)
        narrow.copy_(torch.where(skip, narrow, moved.to(narrow.dtype)))


def ratio_squares(gradient: Tensor, second: Tensor, rates: Rates, decays: Decays) -> Float[Tensor, ""]:
    """The sum of squares of the gradient over the root of the second moment after it, debiased."""
    square = gradient.square()
    after = (second * decays.second + square * (1 - decays.second)) / rates.second_bias
    return (square / after.clamp(min=decays.eps**2)).sum()


def slices(size: int) -> Iterator[slice]:
    """All numbers of a tensor, some at a time."""
    return (slice(start, min(size, start + AT_ONCE)) for start in range(0, size, AT_ONCE))


def rows_of(part: slice) -> slice:
    """The blocks of a slice."""
    return slice(part.start // blocks.BLOCK, blocks.num_blocks(part.stop))


def moments(state: dict[str, Tensor], part: slice) -> tuple[Tensor, Tensor]:
    """Both moments of a slice in float32."""
    if "exp_avg_scale" not in state:
        return state["exp_avg"].view(-1)[part].float(), state["exp_avg_sq"].view(-1)[part].float()
    rows, size = rows_of(part), part.stop - part.start
    bits = 8 * state["exp_avg"].shape[1] // blocks.BLOCK
    first = blocks.decoded_first(state["exp_avg"][rows], state["exp_avg_scale"][rows], bits=bits)
    second = blocks.decoded_second(state["exp_avg_sq"][rows], state["exp_avg_sq_scale"][rows], bits=bits)
    return first.view(-1)[:size], second.view(-1)[:size]


def keep(
    state: dict[str, Tensor],
    part: slice,
    first: Tensor,
    second: Tensor,
    chance: blocks.RandomNumbers,
    *,
    skip: Bool[Tensor, ""],
) -> None:
    """Writes both moments of a slice where they lie, in their precision, unless the update is skipped."""

    def put(place: Tensor, values: Tensor) -> None:
        place.copy_(torch.where(skip, place, values.to(place.dtype)))

    if "exp_avg_scale" in state:
        rows = rows_of(part)
        bits = 8 * state["exp_avg"].shape[1] // blocks.BLOCK
        encoded: list[Any] = [
            blocks.encoded_first(in_blocks(first), in_blocks(chance.first), bits=bits),
            blocks.encoded_second(in_blocks(second), in_blocks(chance.second), bits=bits),
        ]
        for key, (codes, scales) in zip(("exp_avg", "exp_avg_sq"), encoded, strict=True):
            put(state[key][rows], codes)
            put(state[f"{key}_scale"][rows], scales)
        return
    for key, values, drawn in (("exp_avg", first, chance.first), ("exp_avg_sq", second, chance.second)):
        place = state[key].view(-1)[part]
        narrow = place.dtype == torch.bfloat16
        put(place, blocks.narrowed(values, (drawn * 65536).long()) if narrow else values)


def in_blocks(values: Tensor) -> Float[Tensor, "blocks block"]:
    """Numbers as rows of blocks, filled up with zeros."""
    size = blocks.num_blocks(len(values)) * blocks.BLOCK
    return torch.nn.functional.pad(values, (0, size - len(values))).view(-1, blocks.BLOCK)
