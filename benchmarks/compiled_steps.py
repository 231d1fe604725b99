"""What does compiling cost before the first steps, and what does a step gain by it?

    python benchmarks/compiled_steps.py --data DIR --out result.json [--preset base] [--arms off,on] [KEY=VALUE ...]

DIR is as for `translation_speed.py`. Steps as `trimtab train` takes them, recorded as CUDA graphs, over six windows
that are on the device before. `seconds_of_six_steps` has the compiling and the recording in it, with what the caches of
this machine hold; `step_ms` is the mean of thirty steps after that; `kernel_ms` what the profiler saw running in a step
that is not recorded, by kernel.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch
from record import Record
from timed_run import RECIPE, data_in

from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.device import set_arithmetic
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.types import TrainState

WINDOWS, STEPS, PROFILED = 6, 30, 3
KERNELS_TOLD = 45


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--arms", default="off,on")
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    record = Record(args.out, question="what compiling costs and gains", preset=args.preset)
    for compiled in args.arms.split(","):
        record.arm(compiled, lambda compiled=compiled: measured(args, compiled))


def measured(args, compiled):
    """Seconds of the first steps, milliseconds of the later ones, and their kernels."""
    model = f"model={{kind: encoder_decoder, preset: {args.preset}, dropout: 0.1}}"
    changes = [*data_in(args.data), model, f"step.compile={compiled}", *args.overrides]
    recipe = resolve_paths(load_recipe(RECIPE, changes))
    with tempfile.TemporaryDirectory() as folder:
        sources = open_datasets(recipe, tokenizer_folder=Path(folder) / "tokenizer", progress=Silent())
        set_arithmetic(recipe)
        parts = build(recipe, sources)
        stream = parts.stream.batches(0)
        held = [next(stream)[1] for _ in range(WINDOWS)]
        parts.model.train()
        first = seconds(parts, held, steps=WINDOWS)
        each = seconds(parts, held, steps=STEPS) / STEPS
        kernels = profiled(parts, held)
        stream.close()
    tokens = sum(pack.num_tokens for packs in held for pack in packs) / WINDOWS
    return {
        "seconds_of_six_steps": round(first, 2),
        "step_ms": round(1000 * each, 2),
        "tokens_per_second": round(tokens / each),
        "kernel_ms": round(sum(kernels.values()), 2),
        "kernels": {name[:100]: round(ms, 3) for name, ms in list(kernels.items())[:KERNELS_TOLD]},
    }


def seconds(parts, held, *, steps):
    """Of so many steps, until the device is done."""
    begun = time.perf_counter()
    for step in range(steps):
        parts.stepper.begin(TrainState(step=step))
        parts.stepper.take_step(held[step % len(held)], learning_rate=1e-4)
    if parts.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def profiled(parts, held):
    """Milliseconds of each kernel in a step, the longest first; none on a CPU."""
    if parts.device.type != "cuda":
        return {}
    parts.stepper.graphs = None
    seconds(parts, held, steps=PROFILED)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        seconds(parts, held, steps=PROFILED)
    found = sorted(profile.key_averages(), key=lambda event: -event.device_time_total)
    return {event.key: event.device_time_total / 1000 / PROFILED for event in found}


if __name__ == "__main__":
    main()
