"""Causal attention over long documents of a flat pack: which kernel is the fastest, and does it say the same?

    python benchmarks/causal_kernels.py --out result.json [--length 2048] [--tokens 32768] [--heads 16] [--sizes 64,128]
        [--kernels flash,tiles,...]

Needs a CUDA device. Inputs are bfloat16, in the layout in which a block has them: queries and keys by themselves,
values as a view of the fused map's output. Each figure is the median over repetitions by CUDA events; operations are
those of the causal half. `error` is the largest relative distance of the output and of the gradients from the first
kernel's. A kernel that fails is recorded with its error.

- `flash`: PyTorch's variable-length FlashAttention, as trimtab calls it;
- `tiles`: tiles of the flat stream, which trimtab takes for short segments;
- `cudnn_rows`: cuDNN on rows of equal length, which a flat pack of whole documents can be viewed as;
- `flash4`: FlashAttention-4 (the package `flash-attn-4`) on the flat stream; `flash4_grouped`: the same, and each head
  of keys serves four of the queries, against `flash_grouped`, where trimtab repeats the keys.
"""

import argparse
import statistics
from functools import partial

import torch
import torch.nn.functional as F
from record import Record
from torch.nn.attention import SDPBackend, sdpa_kernel

from trimtab.model.attention import attend, attend_varlen
from trimtab.model.attention_flash4 import attend_flash4
from trimtab.model.sequence_layout import SequenceLayout, spans_of
from trimtab.model.tiled.attend import attend_tiled
from trimtab.types import Stream

CUDA = torch.device("cuda")
REPETITIONS, CALLS = 5, 10
KERNELS = ("flash", "tiles", "cudnn_rows", "flash_grouped", "flash4", "flash4_grouped")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--sizes", default="64,128", help="of heads")
    parser.add_argument(
        "--kernels", default=",".join(KERNELS), help="in this order, the first being the reference"
    )
    args = parser.parse_args()
    record = Record(
        args.out,
        question="which kernel is the fastest for causal attention over long documents",
        length=args.length,
        tokens=args.tokens,
        heads=args.heads,
        cudnn=torch.backends.cudnn.version(),
    )
    for size in map(int, args.sizes.split(",")):
        inputs, layout = drawn(args, size)
        kernels = {
            "flash": partial(attend_varlen, of=layout, to=layout, causal=True),
            "tiles": partial(attend_tiled, of=layout, to=layout, causal=True),
            "cudnn_rows": partial(rows, length=args.length),
            "flash4": partial(attend_flash4, of=layout, to=layout, causal=True),
        }
        # Without spans, or `attend` would take the tiles.
        long = layout._replace(spans=None, flash4=False)
        grouped = {
            "flash_grouped": partial(attend, of=long, to=long, causal=True),
            "flash4_grouped": partial(attend_flash4, of=layout, to=layout, causal=True),
        }
        fewer = inputs[0], inputs[1][:, ::4].contiguous(), inputs[2][:, ::4].contiguous()
        truths = [], []
        for name in args.kernels.split(","):
            few = name in grouped
            kernel, given = (grouped[name], fewer) if few else (kernels[name], inputs)
            record.arm(f"{size} {name}", partial(measured, args, kernel, given, truths[few]))


def drawn(args, size):
    generator = torch.Generator(CUDA).manual_seed(0)
    shape = args.tokens, 3 * args.heads, size
    fused = torch.randn(shape, generator=generator, device=CUDA, dtype=torch.bfloat16)
    q, k, v = fused.split(args.heads, dim=1)
    cu_seqlens = torch.arange(0, args.tokens + 1, args.length, device=CUDA, dtype=torch.int32)
    places = torch.arange(args.tokens, device=CUDA)
    stream = Stream(places, places % args.length, places // args.length, cu_seqlens, args.length)
    layout = SequenceLayout(cu_seqlens, args.length, None, None, spans_of(stream))
    return (q.contiguous(), k.contiguous(), v), layout


def measured(args, kernel, inputs, truth):
    """Milliseconds and operations a second of the forward pass alone and with the backward pass."""
    inputs = [each.detach().requires_grad_() for each in inputs]
    weight = torch.ones_like(inputs[0]).mul_(inputs[0].detach())
    out = kernel(*inputs)
    found = [out.detach(), *torch.autograd.grad(out, inputs, weight)]
    truth.extend(found if not truth else [])
    errors = [
        float((a.float() - b.float()).norm() / b.float().norm()) for a, b in zip(found, truth, strict=True)
    ]

    def both():
        return torch.autograd.grad(kernel(*inputs), inputs, weight)

    with torch.no_grad():
        forward = milliseconds(lambda: kernel(*inputs))
    whole = milliseconds(both)
    pairs = args.tokens // args.length * (args.length * (args.length + 1) / 2)
    operations = 4 * pairs * args.heads * inputs[0].shape[2]
    return {
        "forward_ms": forward,
        "with_backward_ms": whole,
        "forward_tflops": round(operations / statistics.median(forward) / 1e9, 1),
        "with_backward_tflops": round(3 * operations / statistics.median(whole) / 1e9, 1),
        "error": max(errors),
    }


def milliseconds(call):
    """Of each repetition."""
    for _ in range(3):
        call()
    found = []
    for _ in range(REPETITIONS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        found.append(round(begin.elapsed_time(end) / CALLS, 4))
    return found


def rows(q, k, v, *, length):
    whole = [each.unflatten(0, (-1, length)).transpose(1, 2) for each in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        mixed = F.scaled_dot_product_attention(*whole, is_causal=True)
    return mixed.transpose(1, 2).flatten(0, 1)


if __name__ == "__main__":
    main()
