"""Which cross-entropy over a large vocabulary is fast, small and exact? trimtab's beside those of other libraries.

    python benchmarks/loss_kernels.py --out result.json [--cells 16384x512x16000,...] [--repetitions 7]

Each cell is tokens x dim x vocabulary. Hidden vectors are bfloat16 and the matrix float32 (where a model gives them in
float32, a piece of them is copied as well); a tenth of the labels does not count. Forward with backward, by CUDA
events, median of the repetitions; the memory at the worst moment beyond what was there before and beyond both
gradients; the error of the gradient of the hidden vectors against float32, as a share of its norm. `smoothing` is 0.1
where an arm has it; an arm that has none is measured without.

- `plain`: whole logits, `torch.nn.functional.cross_entropy`;
- `trimtab`: what `trimtab train` uses; `trimtab-plain`: what it uses where Triton does not run;
- `liger`: LigerFusedLinearCrossEntropyLoss; `cce`: Cut Cross Entropy (arXiv 2411.09009), which has no smoothing;
- `torch`: `torch.nn.functional.linear_cross_entropy` in chunks, from torch 2.13 on, which has no smoothing there.
"""

import argparse
import statistics
import time
from functools import partial

import torch
import torch.nn.functional as F
from record import Record

from trimtab.config.loss import CrossEntropyLoss
from trimtab.logit_tiles import SLOW_CHUNK_BYTES
from trimtab.loss.build import build_loss
from trimtab.loss.rows import PLAIN
from trimtab.types import IGNORE

SMOOTHING = 0.1
WARM_UP = 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--cells", default="16384x512x16000,16384x1024x32000,8192x2048x128000")
    parser.add_argument("--arms", default="plain,trimtab,trimtab-plain,liger,cce,torch")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    args = parser.parse_args()
    device = torch.device(args.device)
    record = Record(args.out, question="which cross-entropy is fast, small and exact", device=device)
    for cell in args.cells.split(","):
        given = inputs(*map(int, cell.split("x")), device)
        exact = {}
        for smoothing in (SMOOTHING, 0.0):
            exact[smoothing] = gradient(partial(plain, smoothing=smoothing, wide=True), given)
        for arm in args.arms.split(","):
            record.arm(
                f"{cell} {arm}", lambda arm=arm, given=given, exact=exact: measured(args, arm, given, exact)
            )
        del exact


def inputs(tokens, dim, vocabulary, device):
    """Hidden vectors, output matrix (float32, as weights are) and labels."""
    draw = torch.Generator(device).manual_seed(1)
    options = {"device": device, "generator": draw}
    hidden = torch.randn(tokens, dim, **options).to(torch.bfloat16).requires_grad_()
    matrix = (torch.randn(vocabulary, dim, **options) / dim**0.5).requires_grad_()
    labels = torch.randint(0, vocabulary, (tokens,), **options)
    labels[torch.rand(tokens, **options) < 0.1] = IGNORE
    return hidden, matrix, labels


def measured(args, arm, given, exact):
    """Time, memory and error of one arm in one cell."""
    loss, smoothing = arms(arm, given)
    error = float((gradient(loss, given) - exact[smoothing]).norm() / exact[smoothing].norm())
    for _ in range(WARM_UP):
        gradient(loss, given)
    times = [timed(loss, given) for _ in range(args.repetitions)]
    found = {
        "ms": round(statistics.median(times), 3),
        "ms_of_repetitions": [round(each, 3) for each in times],
        "smoothing": smoothing,
        "error": round(error, 6),
    }
    return found | workspace(loss, given)


def arms(arm, given):
    """The loss of an arm, and its smoothing."""
    hidden, matrix, _ = given
    if arm == "plain":
        return partial(plain, smoothing=SMOOTHING), SMOOTHING
    if arm.startswith("trimtab"):
        ours = build_loss(
            CrossEntropyLoss(label_smoothing=SMOOTHING), num_ids=len(matrix), device=hidden.device
        )
        if "plain" in arm:
            ours.functions, ours.chunk_bytes = PLAIN, SLOW_CHUNK_BYTES

        # Under autocast, as in training: the matrix is float32 and the products are not.
        def of_trimtab(hidden, matrix, labels):
            with torch.autocast(hidden.device.type, dtype=torch.bfloat16):
                return ours(hidden, matrix, labels).objective

        return of_trimtab, SMOOTHING
    if arm == "liger":
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        liger = LigerFusedLinearCrossEntropyLoss(
            ignore_index=IGNORE, label_smoothing=SMOOTHING, reduction="sum"
        )
        return lambda hidden, matrix, labels: liger(matrix.to(hidden.dtype), hidden, labels), SMOOTHING
    if arm == "cce":
        from cut_cross_entropy import linear_cross_entropy

        return partial(cut, linear_cross_entropy), 0.0
    return partial(of_torch, F.linear_cross_entropy), 0.0


def plain(hidden, matrix, labels, *, smoothing, wide=False):
    """Whole logits; `wide` is what the others are held against."""
    logits = hidden.float() @ matrix.T if wide else F.linear(hidden, matrix.to(hidden.dtype)).float()
    return F.cross_entropy(logits, labels, ignore_index=IGNORE, label_smoothing=smoothing, reduction="sum")


def cut(function, hidden, matrix, labels):
    return function(hidden, matrix.to(hidden.dtype), labels, ignore_index=IGNORE, reduction="sum")


def of_torch(function, hidden, matrix, labels):
    options = torch.nn.LinearCrossEntropyOptions()
    return function(
        hidden,
        matrix.to(hidden.dtype),
        labels,
        ignore_index=IGNORE,
        reduction="sum",
        options=options,
    )


def gradient(loss, given):
    """Of the hidden vectors, in float32."""
    hidden, matrix, labels = given
    hidden.grad = matrix.grad = None
    loss(hidden, matrix, labels).backward()
    return hidden.grad.float()


def timed(loss, given):
    """Milliseconds of forward with backward."""
    if given[0].device.type != "cuda":
        begun = time.perf_counter()
        gradient(loss, given)
        return 1000 * (time.perf_counter() - begun)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    gradient(loss, given)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def workspace(loss, given):
    """MiB beyond what was there before and beyond both gradients."""
    hidden, matrix, _ = given
    if hidden.device.type != "cuda":
        return {}
    hidden.grad = matrix.grad = None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    gradient(loss, given)
    more = torch.cuda.max_memory_allocated() - before - hidden.nbytes - matrix.nbytes
    return {"workspace_mib": round(more / 2**20, 1)}


if __name__ == "__main__":
    main()
