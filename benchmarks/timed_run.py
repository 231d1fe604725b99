"""A run of `trimtab train`, as long as it takes to measure it: its own metrics, in windows of time after a warm-up."""

import gc
import math
import statistics
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import torch
from plain_progress import PlainProgress
from torch._dynamo.utils import counters

from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.load import load_recipe
from trimtab.launch import train

RECIPE = Path(__file__).parents[1] / "recipes/en_de.yaml"
REPETITIONS = 3


class Enough(Exception):
    """So much was trained as was to be measured."""


class Stopwatch(PlainProgress):
    """Ends a run when it has trained for so many seconds after its first steps; keeps when things happened."""

    def __init__(self, *, warm_steps, seconds):
        super().__init__(seconds=10.0)
        self.warm_steps, self.measured_seconds = warm_steps, seconds
        self.begun = time.perf_counter()
        self.marks = {}
        self.warm_at, self.warm_graphs = None, 0
        self.scored = []

    def message(self, text):
        super().message(text)
        # What is told last before the first step is told when the parts are built, before they are checked.
        if self.warm_at is None and "first report" not in self.marks:
            self.marks["parts built"] = round(time.perf_counter() - self.begun, 2)

    def step(self, metrics, *, share, seconds_left):
        super().step(metrics, share=share, seconds_left=seconds_left)
        self.marks.setdefault("first report", round(time.perf_counter() - self.begun, 2))
        if metrics["step"] < self.warm_steps:
            return
        if self.warm_at is None:
            self.warm_at, self.warm_graphs = metrics["seconds"], counters["stats"]["unique_graphs"]
        elif metrics["seconds"] >= self.warm_at + self.measured_seconds:
            raise Enough

    def evaluation(self, scores):
        super().evaluation(scores)
        self.scored.append(scores)


def data_in(folder):
    """Changes of the recipe that read the corpora of a folder, with its vocabulary where it has one."""
    place = Path(folder).absolute()
    tokenizer = (
        [f"data.tokenizer={{kind: sentencepiece, path: {place}/tok}}"] if (place / "tok").is_dir() else []
    )
    return [f"data.root={place}", *tokenizer]


def unchecked():
    """While it is open, runs begin without the checks before step 1."""
    return patch("trimtab.launch.preflight", lambda parts: ())


def timed_run(overrides, *, warm_steps, seconds=math.inf, recipe=RECIPE, look=None, checked=True):
    """Real tokens a second of a run, its evaluations, what came before it, and the memory that it took; and what `look`
    finds in its folder before that is removed. Without `checked` it trains at once, without the checks before step 1.
    """
    torch._dynamo.reset()
    counters.clear()
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    watch = Stopwatch(warm_steps=warm_steps, seconds=seconds)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        try:
            with nullcontext() if checked else unchecked():
                train(load_recipe(recipe, overrides), out=out, progress=watch)
        except Enough as error:
            error.__traceback__ = None  # its frames hold the model
        found = told(RunFolder(out), watch) | (look(out) if look else {})
    if cuda:
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    gc.collect()
    if cuda:
        torch.cuda.empty_cache()
    return found


def told(run, watch):
    """What the run wrote down."""
    lines, recipe = [*read_journal(run.metrics)], load_recipe(run.recipe).recipe
    step = recipe.step
    rates = window_rates(lines, after=watch.warm_steps)
    return {
        **rates,
        "steps": lines[-1]["step"],
        "tokens_per_step": round(statistics.mean(line["tokens"] for line in lines)),
        "fill": round(statistics.mean(line["fill"] for line in lines), 4),
        "mean_of_last_20_losses": statistics.mean(line["loss"] for line in lines[-20:]),
        "skipped": sum(line["skipped"] for line in lines),
        "precision": step.precision,
        "compile": step.compile,
        "deterministic": step.deterministic,
        "graphs": counters["stats"]["unique_graphs"],
        "graph_breaks": sum(counters["graph_break"].values()),
        "recompiles_after_warm_up": counters["stats"]["unique_graphs"] - watch.warm_graphs,
        "seconds_since_call": watch.marks,
        **waits(run),
        **evaluations(watch, rates["tokens_per_second"], lines, every=2000),
    }


def window_rates(lines, *, after, repetitions=REPETITIONS):
    """Real tokens of source and target a second, over equal shares of the training time after the first steps.

    `seconds` of the metrics is the clock of the training, which evaluations and saves stop; steps that were reported
    together have one reading of it.
    """
    tokens = Counter()
    for line in lines:
        tokens[line["seconds"]] += line["tokens"]
    times = sorted({line["seconds"] for line in lines if line["step"] >= after})
    if len(times) <= repetitions:
        raise ValueError(f"{len(times)} reports after step {after} are too few for {repetitions} windows")
    edges = [times[round(i * (len(times) - 1) / repetitions)] for i in range(repetitions + 1)]
    each = [
        sum(count for at, count in tokens.items() if begin < at <= end) / (end - begin)
        for begin, end in pairwise(edges)
    ]
    return {
        "tokens_per_second": round(statistics.median(each)),
        "each": [round(rate) for rate in each],
        "measured_seconds": round(edges[-1] - edges[0], 2),
    }


def waits(run):
    """The share of the time that was lost with waiting for data, as the run itself says at an evaluation."""
    looks = [line["data_wait"] for line in read_journal(run.health) if "data_wait" in line]
    return {"data_wait": looks[-1]} if looks else {}


def evaluations(watch, rate, lines, *, every):
    """Seconds of an evaluation, and the rate of a run that has one every so many steps."""
    if not watch.scored:
        return {}
    first = [scores for scores in watch.scored if scores["step"] == watch.scored[0]["step"]]
    seconds = sum(scores.get("seconds", 0.0) for scores in first)
    tokens = every * statistics.mean(line["tokens"] for line in lines)
    return {
        "valid_loss": {scores["set"]: scores["loss"] for scores in watch.scored[-len(first) :]},
        "evaluation_seconds": round(seconds, 2),
        f"tokens_per_second_with_an_evaluation_every_{every}_steps": round(
            tokens / (tokens / rate + seconds)
        ),
    }
