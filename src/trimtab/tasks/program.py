"""Chooses what a check runs: the program that trains, which may be compiled, or the plain modules."""

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.step.precision import autocast
from trimtab.tasks.examples import Checked
from trimtab.types import Batch

SEED = 1
"""Of dropout, where passes are compared."""


@contextmanager
def plainly() -> Generator[None]:
    """While it is open nothing that was compiled runs, only the modules behind it.

    A block is compiled again for each mode (in training or not, with gradients or without) and each shape: seconds to
    tens of seconds for a single pass. The run itself needs the code of its training alone.
    """
    with _stance("force_eager"):
        yield


@contextmanager
def as_trained() -> Generator[None]:
    """While it is open compiled code runs where there is some, inside of `plainly` too.

    For passes in training mode, with gradients, over packs of the run's own shape: what they compile the first step
    would compile.
    """
    with _stance("default"):
        yield


def _stance(name: Literal["force_eager", "default"]) -> AbstractContextManager[Any]:
    """To ask for one imports the compiler, without which nothing was compiled."""
    return torch.compiler.set_stance(name) if "torch._dynamo" in sys.modules else nullcontext()


@torch.no_grad()
def hidden(parts: Checked, batch: Batch) -> Float[Tensor, "targets dim"]:
    """The vectors from which targets are predicted, in the run's precision, as float32."""
    with autocast(parts.precision, parts.device):
        return parts.model(batch).float()


def hidden_in_training(parts: Checked, batch: Batch, *, seed: int = SEED) -> Float[Tensor, "targets dim"]:
    """The same as the program that trains makes them; dropout follows from the seed and the batch's shape.

    It runs with gradients, though nobody asks for them: without, it would be another program.
    """
    parts.model.train()
    torch.manual_seed(seed)
    with as_trained(), autocast(parts.precision, parts.device):
        return parts.model(batch).detach().float()
