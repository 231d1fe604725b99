"""Attention over flat packs: variable-length FlashAttention, padded rows, flex_attention and tiles of the flat stream.

    python benchmarks/attention_kernels.py --out result.json [--seconds 110] [--parts warm,compare,sweep,sizes]

Needs a CUDA device. Packs are filled with segments whose lengths are drawn as in a corpus of sentences (mean 27), of
paragraphs (mean 60), or are all 256; their heads are those of the presets base and big, in bfloat16. Each figure is
the median over repetitions, by CUDA events, of a call whose inputs are not in the cache, behind a pause in which the
host can run ahead: time on the GPU, not of launching. Parts, in this order, as far as the seconds reach:

- all kernels of tiled attention are compiled, by several processes;
- `compared`: forward, and forward with backward, of the kernels as trimtab calls them;
- `swept`: each kernel of tiled attention at many tile sizes, with its error against float32 on padded rows;
- `flex`, only where `--parts flex` asks for it: flex_attention with a mask of segments, and what making the mask takes.

A configuration that fails is recorded with its error, and the script continues.

attention_kernels.json has all parts but `flex`. What it calls `tiles` is how `compared` was cut, before the sweep of
the same run chose better ones. A kernel that found all gradients at once, over tiles that end where segments end, was
swept there too; it was slower in every cell than the two that it was to replace, and is gone.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import torch

from trimtab.model.attention import attend_varlen
from trimtab.model.attention_padded import attend_padded
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout, spans_of
from trimtab.model.tiled.attend import attend_tiled
from trimtab.model.tiled.tiles import TILES, Tile
from trimtab.types import Stream

CUDA = torch.device("cuda")
HEADS = {"base": 8, "big": 16}
LONGEST = 256
CALLS = ("encoder", "decoder", "cross")
LENGTHS = ("mean 27", "mean 60", "all 256")
SWEPT = [
    *[Tile(64, 64, 4, stages) for stages in (1, 2, 3)],
    *[Tile(64, 32, 4, stages) for stages in (1, 2, 3)],
    *[Tile(32, 32, 2, stages) for stages in (1, 2)],
    *[Tile(32, 64, 4, stages) for stages in (1, 2)],
    *[Tile(32, 32, 4, 1), Tile(32, 64, 2, 1), Tile(16, 32, 1, 2), Tile(64, 16, 4, 2)],
    *[Tile(64, 64, 8, 1), Tile(64, 64, 8, 2), Tile(64, 128, 4, 1), Tile(64, 128, 8, 1)],
    *[Tile(128, 64, 8, 1), Tile(128, 64, 8, 2), Tile(128, 32, 8, 1), Tile(128, 32, 4, 1)],
]
FEWER = [Tile(64, 64, 4, 1), Tile(64, 64, 4, 2), Tile(64, 32, 4, 1), Tile(64, 32, 4, 2), Tile(32, 64, 4, 1)]
FEWER += [Tile(64, 64, 8, 1), Tile(128, 64, 8, 1), Tile(32, 32, 2, 1)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=110)
    parser.add_argument("--parts", default="warm,compare,sweep,sizes")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    run = Run(Path(args.out), args.seconds)
    parts = {"warm": warm, "compare": compare, "sweep": sweep, "flex": flex, "sizes": other_sizes}
    for name in args.parts.split(","):
        run.attempt({"part": name}, partial(parts[name], run))
    run.write()
    print(f"{len(run.failed)} failures, {time.perf_counter() - run.begun:.0f} s", flush=True)


class Run:
    """What has been measured, and how much time is left."""

    def __init__(self, out, seconds):
        import triton

        self.out, self.begun, self.seconds = out, time.perf_counter(), seconds
        self.compared, self.swept, self.flex, self.failed = [], [], [], []
        self.about = {
            "question": "which kernel is the fastest attention for packs of short segments, and in which tiles",
            "card": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "triton": triton.__version__,
            "tiles": TILES,
            "command": " ".join(["python", *sys.argv]),
        }

    def attempt(self, what, work, *, takes=0):
        """Runs it if there is time for something that takes so many seconds; a failure is written down."""
        if time.perf_counter() - self.begun + takes > self.seconds:
            self.failed.append({**what, "error": "no time left"})
            return None
        try:
            return work()
        except Exception as error:
            self.failed.append({**what, "error": f"{type(error).__name__}: {error}"[:600]})
            print("FAILED", self.failed[-1], flush=True)
            return None

    def write(self):
        found = {name: getattr(self, name) for name in ("compared", "swept", "flex", "failed")}
        self.out.write_text(json.dumps({**self.about, **found}, indent=1) + "\n")


# The packs.


def drawn(kind, tokens, seed=0):
    """Lengths of source and target segments that fill packs of `tokens` slots, the tail cut into even segments."""
    rng = np.random.default_rng(seed)
    if kind == "all 256":
        return [[LONGEST] * (tokens // LONGEST)] * 2
    mean, spread = {"mean 27": (27, 0.65), "mean 60": (60, 0.6)}[kind]
    source = rng.lognormal(np.log(mean) - spread**2 / 2, spread, tokens)
    target = source * rng.lognormal(0, 0.2, tokens)
    sides = np.clip(np.rint([source, target]), 2, LONGEST).astype(int)
    count = int((sides.cumsum(1) <= tokens).all(0).sum())
    left = tokens - sides[:, :count].sum(1)
    parts = int(-(-left.max() // LONGEST))
    tails = [[(int(rest) + i) // parts for i in range(parts)] if parts else [] for rest in left]
    return [side[:count].tolist() + tail for side, tail in zip(sides, tails, strict=True)]


def layouts(lengths):
    """The same segments for tiles, for FlashAttention, and for padded rows."""
    counts = torch.tensor(lengths)
    cu_seqlens = torch.cat([torch.zeros(1), counts.cumsum(0)]).to(torch.int32)
    segments = torch.repeat_interleave(torch.arange(len(lengths)), counts)
    positions = torch.arange(len(segments)) - cu_seqlens[:-1].repeat_interleave(counts)
    stream = Stream(segments, positions, segments, cu_seqlens, LONGEST).to(CUDA)
    return {
        "tiled": SequenceLayout(stream.cu_seqlens, LONGEST, None, None, spans_of(stream)),
        "varlen": SequenceLayout(stream.cu_seqlens, LONGEST, None, None),
        "padded": sequence_layout(stream, padded=True),
    }


class Case:
    """One call of attention: inputs that are views of fused projections, the gradient of its output, the layouts."""

    def __init__(self, call, kind, *, tokens, heads, size=64):
        source, target = map(layouts, drawn(kind, tokens))
        self.causal = call == "decoder"
        self.of = source if call == "encoder" else target
        self.to = target if call == "decoder" else source
        generator = torch.Generator(CUDA).manual_seed(0)
        fused = torch.randn(tokens, 3 * heads, size, generator=generator, device=CUDA)
        q, k, v = fused.bfloat16().split(heads, dim=1)
        if call == "cross":
            q = q.contiguous()
        self.inputs = [x.requires_grad_() for x in (q, k, v)]
        self.grad = torch.randn(tokens, heads, size, generator=generator, device=CUDA).bfloat16()

    def forward(self, kernel, name):
        return kernel(*self.inputs, of=self.of[name], to=self.to[name], causal=self.causal)

    def both(self, kernel, name):
        return torch.autograd.grad(self.forward(kernel, name), self.inputs, self.grad)

    def all_of(self, kernel, name, dtype=torch.bfloat16):
        """Output and gradients, in a precision."""
        inputs = [x.detach().to(dtype).requires_grad_() for x in self.inputs]
        out = kernel(*inputs, of=self.of[name], to=self.to[name], causal=self.causal)
        return [out.detach(), *torch.autograd.grad(out, inputs, self.grad.to(dtype))]


def far(found, truth):
    """Relative error of each tensor."""
    return [
        float((one.float() - other).norm() / other.norm()) for one, other in zip(found, truth, strict=True)
    ]


# The clock.


def milliseconds(work, *, repetitions=21, pause_ms=1.0):
    """Median time on the GPU, inputs cold; the host runs ahead during the pause."""
    flush = torch.empty(2**26, dtype=torch.int32, device=CUDA)
    for _ in range(3):
        work()
    marks = []
    for _ in range(repetitions):
        flush.zero_()
        torch.cuda._sleep(int(2e6 * pause_ms))
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        marks.append((begin, end))
    torch.cuda.synchronize()
    return round(statistics.median(begin.elapsed_time(end) for begin, end in marks), 4)


# The parts.


def compare(run):
    kernels = {"varlen": attend_varlen, "tiled": attend_tiled, "padded": attend_padded}
    cells = [
        (preset, tokens, kind, call)
        for preset in HEADS
        for tokens in (16384, 8192, 32768)
        for kind in LENGTHS
        for call in CALLS
    ]
    for preset, tokens, kind, call in cells:
        case = Case(call, kind, tokens=tokens, heads=HEADS[preset])
        small = preset == "base" and tokens == 16384
        truth = case.all_of(attend_padded, "padded", torch.float32) if small else None
        row = {"preset": preset, "tokens": tokens, "lengths": kind, "call": call}
        for name in kernels if small else ("varlen", "tiled"):
            found = run.attempt({**row, "kernel": name}, partial(timed, case, kernels[name], name, truth))
            if found:
                run.compared.append({**row, "kernel": name, **found})
                print(run.compared[-1], flush=True)
    run.write()


def timed(case, kernel, name, truth):
    found = {
        "forward_ms": milliseconds(partial(case.forward, kernel, name)),
        "both_ms": milliseconds(partial(case.both, kernel, name), pause_ms=2.0),
    }
    if truth is not None:
        found["errors"] = far(case.all_of(kernel, name), truth)
    return found


def sweep(run, size=64, tiles=SWEPT):
    """All tiles where segments are short, then the best on longer segments and under a causal mask."""
    best = {}
    for kernel, tile in candidates(tiles):
        best.setdefault(kernel, []).append((measured(run, "encoder", "mean 27", size, kernel, tile), tile))
    others = [("decoder", "mean 27"), ("cross", "mean 27"), ("encoder", "mean 60"), ("encoder", "all 256")]
    for call, kind in others if size == 64 else others[:1]:
        for kernel, found in best.items():
            for _, tile in sorted((ms, tile) for ms, tile in found if ms is not None)[:4]:
                measured(run, call, kind, size, kernel, tile)
    run.write()


def other_sizes(run):
    for size in sorted(TILES):
        if size != 64:
            sweep(run, size=size, tiles=FEWER)


def candidates(tiles):
    """Kernels and their tiles, the kernels in turns."""
    return [(name, tile) for tile in tiles for name in KERNELS]


def warm(run):
    """Compiles what is measured, so that the rest of the script finds it in Triton's cache."""
    jobs = [(64, *each) for each in candidates(SWEPT)]
    jobs += [(size, *each) for size in TILES if size != 64 for each in candidates(FEWER)]
    processes = max(1, min(12, (os.cpu_count() or 2) - 2))
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compiled, [jobs[number::processes] for number in range(processes)]))
    print(f"compiled after {time.perf_counter() - run.begun:.0f} s", flush=True)


def compiled(jobs):
    """Calls each kernel once, on any numbers; one that fails is told when it is measured."""
    from trimtab.model.tiled.backward import Attended

    for size, kernel, tile in jobs:
        case = Case("encoder", "mean 27", tokens=16384, heads=512 // size, size=size)
        q, k, v = (x.detach() for x in case.inputs)
        spans = case.of["tiled"].spans
        case.inner = torch.zeros(512 // size, 16384, device=CUDA)
        saved = Attended(q, k, v, spans, spans, torch.zeros_like(case.grad), case.inner)
        with suppress(Exception):
            KERNELS[kernel][1](case, saved, tile)()
    torch.cuda.synchronize()


def measured(run, call, kind, size, kernel, tile):
    """The time of one kernel in one tile, None if it failed; its error goes along."""
    given, make = KERNELS[kernel]
    row = {"kernel": kernel, "size": size, "call": call, "lengths": kind, "tile": list(tile)}

    def work():
        case, saved, truth, floor = prepared(call, kind, size)
        one = make(case, saved, tile)
        found = one()
        errors = far(found[: len(given)], [truth[place] for place in given])
        fine = all(error <= 1.5 * floor[place] + 1e-4 for error, place in zip(errors, given, strict=True))
        return {"ms": milliseconds(one, pause_ms=0.3), "errors": errors, "fine": fine}

    found = run.attempt(row, work)
    if found is None:
        return None
    run.swept.append({**row, **found})
    print(run.swept[-1], flush=True)
    return found["ms"] if found["fine"] else None


CACHE = {}


def prepared(*key):
    """The case, what the forward pass leaves, the truth, and how far padded rows in bfloat16 are from it."""
    from trimtab.model.tiled.backward import Attended, gradient_of_queries
    from trimtab.model.tiled.forward import attend_forward

    if key not in CACHE:
        CACHE.clear()
        call, kind, size = key
        case = Case(call, kind, tokens=16384, heads=512 // size, size=size)
        truth = case.all_of(attend_padded, "padded", torch.float32)
        floor = far(case.all_of(attend_padded, "padded"), truth)
        q, k, v = (x.detach() for x in case.inputs)
        of, to = case.of["tiled"].spans, case.to["tiled"].spans
        tile = Tile(64, 64, 4, 1)
        out, lse = attend_forward(q, k, v, of, to, causal=case.causal, tile=tile)
        saved = Attended(q, k, v, of, to, out, lse)
        case.inner = gradient_of_queries(case.grad, saved, causal=case.causal, tile=tile)[1]
        CACHE[key] = case, saved, truth, floor
    return CACHE[key]


def forward(case, saved, tile):
    from trimtab.model.tiled.forward import attend_forward

    return partial(attend_forward, *saved[:5], causal=case.causal, tile=tile)


def of_queries(case, saved, tile):
    from trimtab.model.tiled.backward import gradient_of_queries

    return partial(gradient_of_queries, case.grad, saved, causal=case.causal, tile=tile)


def of_keys(case, saved, tile):
    from trimtab.model.tiled.backward import gradients_of_keys

    return partial(gradients_of_keys, case.grad, case.inner, saved, causal=case.causal, tile=tile)


KERNELS = {
    "forward": ([0], forward),
    "of_queries": ([1], of_queries),
    "of_keys": ([2, 3], of_keys),
}
"""Which of (output, gradients of queries, keys, values) its first results are, and how it is called."""


def flex(run):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    attend = torch.compile(flex_attention, dynamic=False)
    make = torch.compile(create_block_mask, dynamic=False)
    for kind, call in (("mean 27", "decoder"), ("mean 27", "encoder"), ("all 256", "decoder")):
        case = Case(call, kind, tokens=16384, heads=8)
        tokens = len(case.grad)
        of, to = case.of["tiled"].spans[:tokens], case.to["tiled"].spans[:tokens]

        def seen(batch, head, q, k, of=of, to=to, causal=case.causal):
            same = of[q] == to[k]
            return same & (q >= k) if causal else same

        def kernel(q, k, v, mask):
            rows = (x.transpose(0, 1)[None] for x in (q, k, v))
            return attend(*rows, block_mask=mask)[0].transpose(0, 1)

        row = {"tokens": tokens, "lengths": kind, "call": call}

        def work(case=case, seen=seen, tokens=tokens, kernel=kernel):
            masked = partial(make, seen, None, None, tokens, tokens, device="cuda")
            mask = masked()
            forward = partial(kernel, *case.inputs, mask)
            both = lambda: torch.autograd.grad(forward(), case.inputs, case.grad)  # noqa: E731
            return {
                "forward_ms": milliseconds(forward),
                "both_ms": milliseconds(both, pause_ms=2.0),
                "mask_ms": milliseconds(masked, pause_ms=2.0),
            }

        found = run.attempt({"part": "flex", **row}, work, takes=25)
        if found:
            run.flex.append({**row, **found})
            print(run.flex[-1], flush=True)
    run.write()


if __name__ == "__main__":
    main()
