"""Segments, heads and references for tests of tiled attention."""

import torch

from tests.gpu.triton_here import DEVICE
from tests.model.test_attention_padded import naive
from trimtab.model.sequence_layout import SequenceLayout


def layout(lengths):
    """The layout of segments of these lengths, empty ones too."""
    counts = torch.tensor(lengths)
    cu_seqlens = torch.cat([torch.zeros(1, dtype=torch.int32), counts.cumsum(0).to(torch.int32)])
    segments = torch.repeat_interleave(torch.arange(len(lengths)), counts).to(torch.int32)
    spans = torch.cat([segments, cu_seqlens])
    return SequenceLayout(cu_seqlens.to(DEVICE), max(lengths), None, None, spans.to(DEVICE))


def padded(tiled):
    """The same segments as padded rows."""
    lengths = tiled.cu_seqlens.diff()
    real = torch.arange(tiled.max_seqlen, device=DEVICE) < lengths[:, None]
    return SequenceLayout(tiled.cu_seqlens, tiled.max_seqlen, real.flatten().nonzero().flatten(), real)


def made(of, to, *, heads, kv_heads, size=32, dtype=torch.float32, seed=0):
    """Queries, keys, values and the weight of each output, as views of wider maps, as a fused projection gives them."""
    generator = torch.Generator().manual_seed(seed)
    tokens, keys = int(of.cu_seqlens[-1]), int(to.cu_seqlens[-1])
    wide = torch.randn(tokens, heads + 2, size, generator=generator)[:, 1 : heads + 1]
    both = torch.randn(keys, 2 * kv_heads, size, generator=generator)
    weight = torch.randn(tokens, heads, size, generator=generator)
    tensors = (wide, both[:, :kv_heads], both[:, kv_heads:])
    return [x.to(DEVICE, dtype).requires_grad_() for x in tensors], weight.to(DEVICE)


def results(kernel, inputs, weight, of, to, *, causal):
    """Output and gradients."""
    out = kernel(*inputs, of=of, to=to, causal=causal)
    return [out.detach(), *torch.autograd.grad((out * weight.to(out.dtype)).sum(), inputs)]


def exact(inputs, weight, of, to, *, causal):
    """The same in float64, one segment and one head at a time."""
    wide = [x.detach().double().requires_grad_() for x in inputs]
    group = inputs[0].shape[1] // inputs[1].shape[1]

    def kernel(q, k, v, **words):
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        return naive(q, k, v, words["of"], words["to"], causal=words["causal"])

    return results(kernel, wide, weight.double(), of, to, causal=causal)
