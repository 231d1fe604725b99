"""What only a GPU can show: packs in half precision, the verdict on the device, compiled blocks."""

import pytest
import torch

from tests.streams import START, pack_of, stream_of
from trimtab.config.loss import CrossEntropyLoss, Truncate
from trimtab.config.model import EncoderDecoderModel
from trimtab.loss.build import build_loss
from trimtab.loss.plain import plain_cross_entropy
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.step.precision import autocast

pytestmark = pytest.mark.gpu
CUDA = torch.device("cuda")


def gradients(kernel, precision, *, compiled=False, dtype=torch.float32, **changes):
    config = EncoderDecoderModel(preset="tiny", dropout=0.0, **changes)
    model = EncoderDecoder(config, num_ids=500, max_positions=64, seed=1).to(CUDA, dtype)
    model.kernel = kernel
    if compiled:
        model.compile_blocks()
    loss = build_loss(CrossEntropyLoss(z_loss=1e-4), num_ids=500, device=CUDA)
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(4, 500, (n,), generator=generator).tolist() for n in (5, 40, 17, 60, 1, 33)]
    pack = pack_of(rows, rows[::-1], max_seqlen=64).to(CUDA)
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


@pytest.mark.parametrize("compiled", [False, True])
def test_grouped_heads_and_a_decoder_without_positions_err_no_more_in_packs_either(compiled):
    changes = {"kv_heads": 1, "activation": "geglu", "decoder_positions": "none"}
    truth = gradients("padded", "fp32", dtype=torch.float64, **changes)
    slow = gradients("padded", "bf16_mixed", **changes)
    fast = gradients("varlen", "bf16_mixed", compiled=compiled, **changes)
    for exact, obvious, ours in zip(truth, slow, fast, strict=True):
        scale = exact.norm()
        assert (ours - exact).norm() / scale <= 1.1 * (obvious - exact).norm() / scale + 1e-3


def test_the_loss_truncates_what_the_plain_one_does():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(300, 64, generator=generator).to(CUDA).requires_grad_()
    matrix = torch.randn(512, 64, generator=generator).to(CUDA)
    labels = torch.randint(0, 500, (300,), generator=generator).to(CUDA)
    config = CrossEntropyLoss(truncate=Truncate(error_norm=1.2))
    loss = build_loss(config, num_ids=500, device=CUDA)
    loss.truncating = True
    out = loss(hidden, matrix, labels)
    plain = plain_cross_entropy(hidden, matrix, labels, loss.terms)
    assert out.truncated == plain.truncated > 0
    torch.testing.assert_close(out.objective, plain.objective, rtol=1e-4, atol=1e-2)
    for one, other in zip(
        *(torch.autograd.grad(each.objective, hidden) for each in (out, plain)), strict=True
    ):
        assert (one - other).norm() <= 1e-2 * other.norm()


@pytest.mark.parametrize(("tokens", "dim", "vocabulary"), [(5000, 256, 16000), (3000, 512, 128000)])
@pytest.mark.parametrize("precision", ["fp32", "bf16_mixed", "fp16_mixed", "bf16"])
def test_the_loss_errs_no_more_than_the_plain_one_and_needs_little_memory(tokens, dim, vocabulary, precision):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(tokens, dim, generator=generator).to(CUDA).requires_grad_()
    matrix = (torch.randn(vocabulary, dim, generator=generator) / dim**0.5).to(CUDA).requires_grad_()
    if precision == "bf16":
        hidden, matrix = (x.detach().bfloat16() for x in (hidden, matrix))
    labels = torch.randint(0, vocabulary, (tokens,), generator=generator).to(CUDA)
    loss = build_loss(CrossEntropyLoss(z_loss=1e-4), num_ids=vocabulary, device=CUDA)

    def found(function, wide=False):
        inputs = [x.detach().double() if wide else x.detach() for x in (hidden, matrix)]
        inputs = [x.requires_grad_() for x in inputs]
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        with autocast("fp32" if wide else precision, CUDA):
            out = function(*inputs, labels)
        gradients = torch.autograd.grad(out.objective / 1237, inputs)
        needed = torch.cuda.max_memory_allocated() - before - sum(x.nbytes for x in gradients)
        return [x.detach().double() for x in (out.objective, *gradients)], needed

    def plain(*given):
        return plain_cross_entropy(*given, loss.terms)

    truth, _ = found(plain, wide=True)
    slow, _ = found(plain)
    fast, needed = found(loss)
    for exact, obvious, ours in zip(truth, slow, fast, strict=True):
        # The gradient of a large matrix in bfloat16 is rounded as a sum, and again when it is scaled.
        bound = 1.5 if precision == "bf16" else 1.1
        assert (ours - exact).norm() <= bound * (obvious - exact).norm() + 1e-5 * exact.norm()
    assert needed <= 256 * 2**20


@torch.no_grad()
def test_a_cached_step_of_grouped_heads_equals_the_whole_forward_on_a_gpu():
    config = EncoderDecoderModel(preset="tiny", dropout=0.0, heads=4, kv_heads=2, positions="rotary")
    model = EncoderDecoder(config, num_ids=500, max_positions=64, seed=1).to(CUDA).eval()
    sources, targets = [[5, 6, 7, 3], [8, 3]], [[20, 21, 22, 3], [30, 31, 32, 3]]
    whole = (model(pack_of(sources, targets).to(CUDA)) @ model.output_matrix.T)[:, :500].view(2, 4, -1)
    source = stream_of(sources).to(CUDA)
    session = model.open_session(source, rows=2, width=1, max_length=8)
    for place, column in enumerate(zip(*[[START, *row[:-1]] for row in targets], strict=True)):
        stepped = session.step(torch.tensor(column, device=CUDA)[:, None])
        torch.testing.assert_close(stepped[:, 0], whole[:, place], atol=1e-3, rtol=1e-3)
