"""Which device a run uses, whether compiling for it pays, and how products are rounded there."""

import os

import torch

from trimtab.arguments import whole_number
from trimtab.config.run import Recipe
from trimtab.errors import input_error

NAMES = "cpu, cuda, cuda:0, ..."
FIX = "leave out --device to take the first GPU, or the CPU if there is none"
MOST_THREADS = 1024

COMPILE_PAYS_FROM_TARGETS = 30_000_000
"""Compiling the base preset takes about 11 s on an H200, and then a step of 16,384 targets 19.4 ms in place of 25.5
(`benchmarks/compiled_steps.json`): even after 29 million targets."""
COMPILE_PAYS_FROM_MINUTES = 3
"""The same with more room, since a length in minutes says nothing about how many targets come."""


def choose_device(name: str | None = None) -> torch.device:
    """The device of a name such as `cuda:1`; without one the current GPU, which is the first unless this process is one
    of several, or the CPU.

    Raises InputError for a name that is not known, and for a GPU that is not there.
    """
    if name is None:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        # With its number where a launcher has given this process another one than the first: other threads would take
        # the first.
        return (
            torch.device("cuda", number) if (number := torch.cuda.current_device()) else torch.device("cuda")
        )
    try:
        device = torch.device(name)
    except RuntimeError:
        raise input_error("device: unknown", got=name, allowed=NAMES, fix=FIX) from None
    if device.type not in ("cpu", "cuda"):
        raise input_error("device: not supported", got=name, allowed=NAMES, fix=FIX)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise input_error("device: no GPU found", got=name, allowed="cpu", fix="leave out --device")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        last = torch.cuda.device_count() - 1
        raise input_error(
            "device: no such GPU", got=name, allowed=f"cuda:0 to cuda:{last}", fix="name one of these GPUs"
        )
    return device


def set_threads(threads: int) -> None:
    """Computes on so many threads of the CPU in this process from now on, in place of one for each core.

    Sums of several threads are added in another order, so the last bits of a run depend on their number. Raises
    InputError for fewer than one or more than `MOST_THREADS`.
    """
    whole_number(threads, name="threads", least=1, most=MOST_THREADS, fix="the number of cores is usual")
    torch.set_num_threads(threads)


def wants_compile(recipe: Recipe, *, targets_per_epoch: float, tokens_per_target: float = 1.0) -> bool:
    """Whether the model's blocks are compiled: as the recipe says, or where the run is long enough for it to pay.

    `tokens_per_target` tokens come with each target, on average."""
    if recipe.step.compile != "auto":
        return recipe.step.compile == "on"
    length = recipe.length
    match length.unit:
        case "minutes":
            return length.count >= COMPILE_PAYS_FROM_MINUTES
        case "steps":
            targets = length.count * recipe.step.tokens_per_step
        case "tokens":
            targets = length.count
        case "epochs":
            targets = length.count * targets_per_epoch
    return targets * tokens_per_target >= COMPILE_PAYS_FROM_TARGETS


def set_arithmetic(recipe: Recipe) -> None:
    """Sets the precision of float32 products for the whole process, whatever was set before, and deterministic kernels
    if the recipe asks for them."""
    torch.set_float32_matmul_precision("high" if recipe.step.precision == "tf32" else "highest")
    if recipe.step.deterministic:
        # cuBLAS needs a workspace of its own for each stream, and must know before it begins.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
