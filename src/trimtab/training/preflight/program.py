"""Which program a check runs: the one that trains, which may be compiled, or the modules that it was made from."""

from collections.abc import Generator
from contextlib import contextmanager

import torch

SEED = 1
"""Of dropout, where passes are compared."""


@contextmanager
def plainly() -> Generator[None]:
    """While it is open nothing that was compiled runs, only the modules behind it.

    A block is compiled anew for each mode (in training or not, with gradients or without) and each shape: seconds to
    tens of seconds for a single pass. The run itself needs the code of its training alone.
    """
    with torch.compiler.set_stance("force_eager"):
        yield


@contextmanager
def as_trained() -> Generator[None]:
    """While it is open compiled code runs where there is some, inside of `plainly` too.

    For passes in training mode, with gradients, over packs of the run's own shape: what they compile the first step
    would compile.
    """
    with torch.compiler.set_stance("default"):
        yield
