import pytest
import torch

from trimtab.step.optimizer.compact_adamw import kernel_works_on

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bits", [16, 8, 4])
def test_the_kernel_makes_what_plain_operations_do(bits, dtype):
    assert kernel_works_on(torch.device("cuda", 0), bits=bits, dtype=dtype)
    assert kernel_works_on(torch.device("cuda", 0), bits=bits, dtype=torch.bfloat16, keeps=True)
