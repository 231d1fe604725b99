import pytest
import torch

from tests.gpu.triton_here import DEVICE
from trimtab.step.optimizer.adamw_kernels import move
from trimtab.step.optimizer.compact_adamw import MOST_APART, share_apart

NARROW, WIDE = torch.bfloat16, torch.float32
FORMS = [(16, WIDE, False), (4, NARROW, True)]
OTHERS = [(bits, *form) for bits in (16, 8, 4) for form in ((WIDE, False), (NARROW, False), (NARROW, True))]


@pytest.mark.parametrize(
    ("bits", "dtype", "keeps"),
    [*FORMS, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS if each not in FORMS)],
)
def test_the_kernel_makes_what_plain_operations_do(bits, dtype, keeps):
    assert share_apart(move, DEVICE, bits=bits, dtype=dtype, keeps=keeps) <= MOST_APART
