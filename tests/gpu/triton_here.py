"""Where tests of kernels written in Triton run: on a GPU, or interpreted by Triton on a CPU, where it is installed."""

import os
import sys

import pytest
import torch

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
if not GPU and "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")
triton = pytest.importorskip("triton")
if not GPU and not triton.knobs.runtime.interpret:
    pytest.skip("Triton was imported before TRITON_INTERPRET=1 was set", allow_module_level=True)
