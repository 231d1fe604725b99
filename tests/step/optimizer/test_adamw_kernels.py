import pytest
import torch

from tests.gpu.triton_here import DEVICE
from trimtab.step.optimizer.adamw_kernels import move
from trimtab.step.optimizer.compact_adamw import MOST_APART, share_apart


@pytest.mark.parametrize("bits", [16, pytest.param(8, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize(
    ("dtype", "keeps"), [(torch.float32, False), (torch.bfloat16, False), (torch.bfloat16, True)]
)
def test_the_kernel_makes_what_plain_operations_do(bits, dtype, keeps):
    assert share_apart(move, DEVICE, bits=bits, dtype=dtype, keeps=keeps) <= MOST_APART
