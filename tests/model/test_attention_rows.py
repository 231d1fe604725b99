"""Segments of one length as rows: here with kernels of plain arithmetic in place of cuDNN's."""

import pytest
import torch
import torch.nn.functional as F

from tests.model.test_attention_padded import naive
from tests.model.test_fused_attention import attend as attend_plainly
from tests.streams import stream_of
from trimtab.model import attention
from trimtab.model.attention import attend, attend_varlen
from trimtab.model.attention_rows import as_rows, as_stream, attend_rows
from trimtab.model.sequence_layout import sequence_layout


def made(lengths, *, full, heads=4, kept=2):
    """Queries, keys and values in float64, and both layouts of the segments."""
    generator = torch.Generator().manual_seed(0)
    make = lambda count: torch.randn(sum(lengths), count, 8, generator=generator, dtype=torch.float64)  # noqa: E731
    inputs = [make(count).requires_grad_() for count in (heads, kept, kept)]
    stream = stream_of([[1] * each for each in lengths], max_seqlen=8)
    flat = sequence_layout(stream, padded=False)._replace(full=full)
    return inputs, flat, sequence_layout(stream, padded=True)


@pytest.fixture
def told(monkeypatch):
    """Which kernel saw how many tokens and segments; both are plain arithmetic."""
    calls = []

    def kernel(name):
        def run(queries, keys, values, *, of, to, causal):
            calls.append((name, len(queries), len(of.cu_seqlens) - 1))
            return attend_plainly(queries, keys, values, of=of, to=to, causal=causal)

        return run

    for name in ("attend_rows", "attend_varlen"):
        monkeypatch.setattr(attention, name, kernel(name))
    return calls


@pytest.mark.parametrize(
    ("lengths", "full", "kernels"),
    [
        ([8, 8], 2, [("attend_rows", 16, 2)]),
        ([8, 8, 3, 6], 2, [("attend_rows", 16, 2), ("attend_varlen", 9, 2)]),
        ([8, 8, 8, 1], 1, [("attend_rows", 8, 1), ("attend_varlen", 17, 3)]),
        ([8, 5], 0, [("attend_varlen", 13, 2)]),
    ],
)
def test_full_segments_come_first_and_values_and_gradients_are_those_of_the_formula(
    told, lengths, full, kernels
):
    inputs, flat, padded = made(lengths, full=full)
    weight = torch.randn(inputs[0].shape, dtype=torch.float64)
    ours = attend(*inputs, of=flat, to=flat, causal=True)
    repeated = [inputs[0], *(each.repeat_interleave(2, dim=1) for each in inputs[1:])]
    truth = naive(*repeated, padded, padded, causal=True)
    torch.testing.assert_close(ours, truth)
    found, wanted = (torch.autograd.grad((each * weight).sum(), inputs) for each in (ours, truth))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert told == kernels


def test_rows_are_the_segments_and_the_stream_comes_back_without_gaps():
    inputs, _, padded = made([8, 8, 8], full=3, kept=4)
    rows = [as_rows(each, 8) for each in inputs]
    assert [each.shape for each in rows] == 3 * [(3, 4, 8, 8)]
    assert rows[0].data_ptr() == inputs[0].data_ptr()  # nothing is copied on the way in
    mixed = as_stream(F.scaled_dot_product_attention(*rows, is_causal=True))
    torch.testing.assert_close(mixed, naive(*inputs, padded, padded, causal=True))
    assert mixed.is_contiguous()
    assert as_stream(rows[1]).data_ptr() == inputs[1].data_ptr()


@pytest.mark.gpu
@pytest.mark.parametrize("size", [64, 128])
def test_cudnn_errs_no_more_than_the_variable_length_kernel(size):
    if torch.cuda.get_device_capability() < (8, 0):
        pytest.skip("needs an NVIDIA GPU with bfloat16")
    generator = torch.Generator("cuda").manual_seed(0)
    shape = (4 * 256, 4, size)
    wide = [torch.randn(shape, generator=generator, device="cuda", dtype=torch.float64) for _ in range(4)]
    stream = stream_of(4 * [256 * [1]], max_seqlen=256).to(torch.device("cuda"))
    flat, padded = sequence_layout(stream, padded=False), sequence_layout(stream, padded=True)

    def results(kernel, dtype):
        inputs = [each.to(dtype).requires_grad_() for each in wide[:3]]
        out = kernel(*inputs)
        return [out, *torch.autograd.grad((out * wide[3].to(dtype)).sum(), inputs)]

    truth = results(lambda q, k, v: naive(q, k, v, padded, padded, causal=True), torch.float64)

    def errors(kernel):
        found = results(lambda q, k, v: kernel(q, k, v, of=flat, to=flat, causal=True), torch.bfloat16)
        return [(a.double() - b).norm() / b.norm() for a, b in zip(found, truth, strict=True)]

    fast, slow = errors(attend_rows), errors(attend_varlen)
    assert all(one <= 1.2 * other + 1e-3 for one, other in zip(fast, slow, strict=True)), (fast, slow)
