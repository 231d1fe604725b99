"""Whole training steps on a GPU: what tiled attention gains, what the guard costs, where the time goes.

    python benchmarks/step_speed.py --out result.json [--presets base,big] [--seconds 110] [KEY=VALUE ...]

Trains as `trimtab train` does, on windows that were cut and moved to the GPU before. For each preset:

- `guard`: rounds of steps with and without the gate that refuses outliers, both recorded as CUDA graphs, and with it
  but not recorded, in turns, so that a card that warms up or throttles favours none;
- `profile`: the kernels that take the most time, and the share of a step in which the GPU has nothing to do: what the
  profiler saw running, against the time of a step without profiler;
- `flash`: a newly built model whose attention is PyTorch's variable-length FlashAttention in place of tiles.

Figures are medians over repetitions by CUDA events; tokens are real ones of source and target, never slots. A part
that fails or for which no time is left is recorded with its error. `--device cpu` goes through everything but `flash`
and is there to try the script.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.utils import counters
from torch.profiler import ProfilerActivity, profile

import trimtab.model.sequence_layout as layout
from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.progress import Silent
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.types import TrainState

RATE = 1e-4
"""Small, as the same windows come again and again."""
ROUNDS, REPETITIONS = 4, 3
PROFILED_STEPS, KERNELS_TOLD = 8, 15
WORK_ON_DEVICE = {"cuda": {"kernel", "gpu_memcpy", "gpu_memset"}, "cpu": {"cpu_op"}}
"""Categories of the profiler's events in which a device is busy."""
FLASH_TAKES = 0.35
"""Share of a preset's time that the rounds of the guard leave to what comes after them."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(Path(__file__).parents[1] / "recipes/en_de.yaml"))
    parser.add_argument("--presets", default="base")
    parser.add_argument("--seconds", type=float, default=110)
    parser.add_argument("--windows", type=int, default=24)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument(
        "--tokenizer", help="folder to keep the tokenizer in", default="/tmp/trimtab-tokenizer"
    )
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    run, presets = Run(args), args.presets.split(",")
    for number, preset in enumerate(presets, start=1):
        run.until = run.begun + args.seconds * number / len(presets)
        measure(run, preset)
    print(f"{len(run.failed)} failures, {run.elapsed:.0f} s", flush=True)


class Run:
    """What has been measured, and how much time is left."""

    def __init__(self, args):
        self.args, self.begun, self.until = args, time.perf_counter(), 0.0
        self.device = torch.device(args.device)
        self.presets, self.failed, self.sources = {}, [], None
        self.about = {
            "question": "training steps a second: tiles against FlashAttention, the guard's price, kernels of a step",
            "card": torch.cuda.get_device_name() if self.device.type == "cuda" else "CPU",
            "torch": torch.__version__,
            "command": " ".join(
                ["python", *(re.sub(r"(?<![\w.])/[\w./-]+/", "", each) for each in sys.argv)]
            ),
        }

    @property
    def elapsed(self):
        return time.perf_counter() - self.begun

    def left(self):
        """Seconds until the preset at hand must be done."""
        return self.until - time.perf_counter()

    def attempt(self, preset, part, work):
        """Does a part and writes down its result, or why there is none."""
        try:
            if self.left() <= 0:
                raise TimeoutError("no time left")
            found = work()
            self.presets.setdefault(preset, {})[part] = found
            print(f"{self.elapsed:.0f} s", preset, part, json.dumps(found)[:400], flush=True)
        except Exception as error:
            found = None
            self.failed.append(
                {"preset": preset, "part": part, "error": f"{type(error).__name__}: {error}"[:1000]}
            )
            print("FAILED", self.failed[-1], flush=True)
        result = {
            **self.about,
            "seconds": round(self.elapsed),
            "presets": self.presets,
            "failed": self.failed,
        }
        Path(self.args.out).write_text(json.dumps(result, indent=1) + "\n")
        return found


@dataclass
class Trained:
    """A model in training, and the windows it is trained on."""

    parts: Any
    steps: list
    """The packs of each window, on the device."""
    tokens: int
    """Real tokens of all windows."""
    state: TrainState
    about: dict


# The parts.


def measure(run, preset):
    """All parts of one preset."""
    held = {}

    def set_out():
        held["tiles"] = trained(run, preset)
        return held["tiles"].about

    if run.attempt(preset, "built", set_out) is None:
        return
    tiles = held["tiles"]
    guard = run.attempt(preset, "guard", lambda: guarded(run, tiles))
    run.attempt(preset, "profile", lambda: profiled(run, tiles, guard))
    steps, tokens = tiles.steps, tiles.tokens
    held.clear()
    del tiles
    if run.device.type == "cuda":
        run.attempt(preset, "flash", lambda: flash(run, preset, (steps, tokens), guard))


def trained(run, preset, windows=None):
    """A newly built model after two passes over the windows, the first of which compiles."""
    torch._dynamo.reset()
    counters.clear()
    if run.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    chosen = ["step.compile=on"] if run.device.type == "cuda" else []
    recipe = resolve_paths(
        load_recipe(run.args.recipe, [*chosen, *run.args.overrides, f"model.preset={preset}"])
    )
    if run.sources is None:
        run.sources = open_datasets(recipe, tokenizer_folder=Path(run.args.tokenizer), progress=Silent())
    parts = build(recipe, run.sources, device=run.device)
    parts.model.train()
    steps, tokens = windows or taken(parts, run.args.windows)
    one = Trained(parts, steps, tokens, TrainState(), {})
    opened = time.perf_counter()
    first = report_of(one, steps[0], gate=parts.stepper.gate)
    loss, warm = float(first.loss), time.perf_counter()
    for gate in (parts.stepper.gate, parts.stepper.gate, None):
        through(one, gate=gate)
    one.about = {
        "parameters": parts.model.num_parameters(),
        "tokens_per_step": tokens / len(steps),
        "packs_per_step": len(steps[0]),
        "precision": parts.precision,
        "compile": parts.recipe.step.compile,
        "tiled": layout.sequence_layout(steps[0][0].target, padded=parts.model.kernel == "padded").spans
        is not None,
        "first_loss": loss,
        "seconds_to_open": round(opened - begun, 1),
        "seconds_of_first_step": round(warm - opened, 1),
        "graphs": counters["stats"]["unique_graphs"],
        "graph_breaks": sum(counters["graph_break"].values()),
    }
    return one


def taken(parts, count):
    """The packs of the first windows, on the device, and how many real tokens they hold."""
    stream = parts.stream.batches(0)
    found = [next(stream) for _ in range(count)]
    stream.close()
    return [packs for _, packs in found], sum(window.num_tokens for window, _ in found)


def guarded(run, one):
    """Rounds of both, each beginning with the other one; the price of the guard is the median over the rounds."""
    arms = {
        "with_guard": lambda: through(one, gate=one.parts.stepper.gate),
        "without_guard": lambda: through(one, gate=None),
        "not_recorded": lambda: through(one, gate=one.parts.stepper.gate, recorded=False),
    }
    before = counters["stats"]["unique_graphs"]
    found, reserve = {name: [] for name in arms}, FLASH_TAKES * max(0.0, run.left())
    rounds = []
    for number in range(ROUNDS):
        if rounds and run.left() < reserve + rounds[-1]["seconds"]:
            break
        begun = time.perf_counter()
        names = list(arms) if number % 2 == 0 else list(arms)[::-1]
        each = {name: [arms[name]() for _ in range(REPETITIONS)] for name in names}
        for name, times in each.items():
            found[name] += times
        middle = {name: statistics.median(times) for name, times in each.items()}
        rounds.append(
            {
                "overhead_percent": 100 * (middle["with_guard"] / middle["without_guard"] - 1),
                "seconds": time.perf_counter() - begun,
            }
        )
    overheads = [each["overhead_percent"] for each in rounds]
    return {
        **{name: speed(one, times) for name, times in found.items()},
        "overhead_percent": round(statistics.median(overheads), 3),
        "overhead_percent_of_rounds": [round(each, 3) for each in overheads],
        "recompiles_after_warm_up": counters["stats"]["unique_graphs"] - before,
        **peak(run),
    }


def profiled(run, one, guard):
    """Kernels by their time, and how much of a step nothing runs."""
    kind = run.device.type
    activity = ProfilerActivity.CUDA if kind == "cuda" else ProfilerActivity.CPU
    packs = one.steps[:PROFILED_STEPS]
    busy_alone = through(one, gate=one.parts.stepper.gate, steps=packs) if guard is None else None
    with profile(activities=[activity]):
        through(
            one, gate=one.parts.stepper.gate, steps=packs[:1]
        )  # what starting the profiler takes is not seen below
    with profile(activities=[activity]) as seen:
        through(one, gate=one.parts.stepper.gate, steps=packs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    ran = [event for event in events if event.get("cat") in WORK_ON_DEVICE[kind] and "dur" in event]
    busy, span = covered([(event["ts"], event["ts"] + event["dur"]) for event in ran])
    total, kernels = sum(event["dur"] for event in ran), {}
    for event in ran:
        kernels.setdefault(event["name"], []).append(event["dur"])
    largest = sorted(kernels.items(), key=lambda item: -sum(item[1]))[:KERNELS_TOLD]
    step_ms = busy_alone / len(packs) if guard is None else guard["with_guard"]["step_ms"]
    return {
        "kernels": [
            {
                "name": name[:120],
                "share": round(sum(times) / total, 4),
                "calls_per_step": round(len(times) / len(packs), 2),
                "mean_us": round(statistics.mean(times), 1),
            }
            for name, times in largest
        ],
        "calls_per_step": round(len(ran) / len(packs), 1),
        "busy_ms_per_step": round(busy / 1000 / len(packs), 3),
        "idle_share": round(1 - busy / 1000 / len(packs) / step_ms, 4),
        "idle_share_under_profiler": round(1 - busy / span, 4),
    }


def covered(intervals):
    """Length of the union of the intervals, and from the first begin to the last end."""
    intervals = sorted(intervals)
    total, reached = 0.0, intervals[0][0]
    for begin, end in intervals:
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total, reached - intervals[0][0]


def flash(run, preset, windows, guard):
    """The same windows with FlashAttention."""
    with without_tiles():
        one = trained(run, preset, windows)
        before = counters["stats"]["unique_graphs"]
        times = [through(one, gate=one.parts.stepper.gate) for _ in range(REPETITIONS)]
    found = {
        **one.about,
        **speed(one, times),
        "recompiles_after_warm_up": counters["stats"]["unique_graphs"] - before,
        **peak(run),
    }
    if guard is not None:
        found["tiles_are_faster_by_percent"] = round(
            100 * (found["step_ms"] / guard["with_guard"]["step_ms"] - 1), 2
        )
    return found


@contextmanager
def without_tiles():
    """While it is open, layouts are made for FlashAttention only."""
    kept, layout.tiles_run_on = layout.tiles_run_on, lambda device: False
    try:
        yield
    finally:
        layout.tiles_run_on = kept


# The steps and the clock.


def report_of(one, packs, *, gate, recorded=True):
    """One step of training."""
    parts = one.parts
    parts.stepper.begin(one.state)
    step = parts.stepper.graphs.take_step if recorded and parts.stepper.graphs is not None else take_step
    return step(
        parts.stepper.objective,
        parts.stepper.optimizer,
        packs,
        clip=parts.stepper.clip,
        scale=parts.stepper.scale,
        learning_rate=RATE,
        gate=gate,
    )


def through(one, *, gate, steps=None, recorded=True):
    """Milliseconds of one pass over the windows."""
    steps = steps or one.steps
    if one.parts.device.type != "cuda":
        begun = time.perf_counter()
        for packs in steps:
            report_of(one, packs, gate=gate, recorded=recorded)
        return 1000 * (time.perf_counter() - begun)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for packs in steps:
        report_of(one, packs, gate=gate, recorded=recorded)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def speed(one, times):
    """Medians over passes that took so many milliseconds."""
    middle = statistics.median(times)
    return {
        "tokens_per_second": round(1000 * one.tokens / middle),
        "step_ms": round(middle / len(one.steps), 4),
        "step_ms_of_passes": [round(each / len(one.steps), 3) for each in times],
    }


def peak(run):
    """Memory of the tensors at the worst moment since the model was built."""
    if run.device.type != "cuda":
        return {}
    return {"peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2)}


if __name__ == "__main__":
    main()
