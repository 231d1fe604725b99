import pytest

from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.half import half_blocks, is_off


@for_each(
    ("context", "is_half"),
    [
        ("torch.autocast('cuda', dtype=torch.float16)", True),
        ("torch.autocast(device_type='cuda:1')", True),
        ("torch.cuda.amp.autocast()", True),
        ("torch.cuda.amp.autocast(True, torch.float16)", True),
        ("torch.cuda.amp.autocast(dtype=torch.bfloat16)", False),
        ("torch.autocast('cuda', enabled=False)", False),
        ("torch.autocast('cpu')", False),
        ("torch.autocast('cuda', **options)", False),
        ("autocast()", False),
    ],
)
def test_autocast_is_fp16_on_cuda_unless_it_is_told_otherwise(context, is_half):
    (event,) = flow(f"import torch\nwith {context}:\n    use()\n").named("use")
    assert bool(half_blocks(event)) is is_half


@pytest.mark.parametrize(("given", "told"), [("enabled=False", True), ("enabled=x", False), ("", False)])
def test_what_is_switched_off(given, told):
    (event,) = flow(f"import torch\ntorch.amp.GradScaler({given})\n").named("GradScaler")
    assert is_off(event.value) is told
