"""What only a GPU can show: packs in half precision, the verdict on the device, compiled blocks."""

import pytest
import torch

from tests.streams import pack_of
from trimtab.config.loss import CrossEntropyLoss
from trimtab.config.model import EncoderDecoderModel
from trimtab.loss.build import build_loss
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.step.precision import autocast

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
CUDA = torch.device("cuda")


def gradients(kernel, precision, *, compiled=False, dtype=torch.float32, positions="sinusoidal"):
    config = EncoderDecoderModel(preset="tiny", dropout=0.0, positions=positions)
    model = EncoderDecoder(config, num_ids=500, max_positions=64, seed=1).to(CUDA, dtype)
    model.kernel = kernel
    if compiled:
        model.compile_blocks()
    loss = build_loss(CrossEntropyLoss(z_loss=1e-4), num_ids=500, device=CUDA, compiled=compiled)
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(4, 500, (n,), generator=generator).tolist() for n in (5, 40, 17, 60, 1, 33)]
    pack = pack_of(rows, rows[::-1], longest=64).to(CUDA)
    with autocast(precision, CUDA):
        out = loss(model(pack), model.output_matrix, pack.labels)
    out.objective.backward()
    return out.objective.double(), torch.cat([p.grad.double().flatten() for p in model.parameters()])


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("compiled", [False, True])
def test_packs_in_bf16_err_no_more_than_padded_rows_in_bf16(compiled, positions):
    truth = gradients("padded", "fp32", dtype=torch.float64, positions=positions)
    slow = gradients("padded", "bf16_mixed", positions=positions)
    fast = gradients("varlen", "bf16_mixed", compiled=compiled, positions=positions)
    for exact, obvious, ours in zip(truth, slow, fast, strict=True):
        scale = exact.norm()
        assert (ours - exact).norm() / scale <= 1.1 * (obvious - exact).norm() / scale + 1e-3
