"""Flat packs against padded batches: the same model, the same windows, the same loss; how full, how fast.

    python benchmarks/packs_against_padding.py --data DIR --out result.json [--preset base] [KEY=VALUE ...]

DIR holds {prose,ui}/{train,dev}.{en,de}.xz. Arms, each with forward, backward and update of the same windows:

- packs: what `trimtab train` does (on a GPU the varlen kernel, with and without compiling; on a CPU flat streams whose
  attention alone is padded);
- padded by length: each window sorted by length and cut into batches of equal slots, every layer on padded rows;
- padded as it comes: batches in the order of the stream, every layer on padded rows.

Padding is masked, so all arms compute the same loss; the script checks that. Tokens are real ones, never slots.
"""

import argparse
import json
import statistics
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch

from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.model.sequence_layout import SequenceLayout
from trimtab.progress import Silent
from trimtab.step.precision import autocast
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.types import IGNORE, LossOutput, Stream

WINDOWS = {"cpu": (3, 3), "cuda": (20, 3)}
"""Windows that are trained on, and timed repetitions, by device."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(Path(__file__).parents[1] / "recipes/en_de.yaml"))
    parser.add_argument(
        "--tokenizer", help="folder to keep the trained tokenizer in", default="/tmp/trimtab-tokenizer"
    )
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    overrides = [f"data.root={Path(args.data).absolute()}", *args.overrides]
    loaded = load_recipe(args.recipe, overrides)
    recipe = resolve_paths(loaded)
    sources = open_datasets(recipe, tokenizer_folder=Path(args.tokenizer), progress=Silent())
    arms = {}
    variants = [("packs", "off")] + ([("packs, compiled", "on")] if device == "cuda" else [])
    for name, compiled in variants:
        parts = parts_for(recipe, sources, compiled)
        count, repetitions = WINDOWS[device]
        windows = take(parts, count)
        arms[name] = measure(
            parts, [packs for _, packs in windows], parts.stepper.objective, windows, repetitions
        )
        arms[name]["fill"] = mean_fill([packs for _, packs in windows])
        print(name, arms[name], flush=True)
        write(args.out, recipe, arms, windows=count, device=device)
    parts = parts_for(recipe, sources, "off")
    parts.model.kernel = "padded"
    windows = take(parts, count)
    slots = parts.batching.shape.target_slots
    for name, sort in (("padded by length", True), ("padded as it comes", False)):
        batches = [padded(window, slots, sort=sort, parts=parts) for window, _ in windows]
        arms[name] = measure(parts, batches, objective_of(parts), windows, repetitions)
        arms[name]["fill"] = mean_fill(batches)
        print(name, arms[name], flush=True)
        write(args.out, recipe, arms, windows=count, device=device)
    losses = [arm["first_loss"] for arm in arms.values()]
    tolerance = 1e-4 if parts.precision == "fp32" else 2e-2
    assert max(losses) - min(losses) < tolerance * min(losses), losses


def write(path, recipe, arms, *, windows, device):
    """The arms measured so far, so that a run that is stopped leaves what it has."""
    result = {
        "question": "flat packs against padded batches: fill and real tokens a second",
        "card": torch.cuda.get_device_name()
        if device == "cuda"
        else f"CPU, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "command": " ".join(["python", *sys.argv]),
        "model": recipe.model.model_dump(mode="json"),
        "tokens_per_step": recipe.step.tokens_per_step,
        "windows": windows,
        "arms": arms,
    }
    Path(path).write_text(json.dumps(result, indent=1) + "\n")


def parts_for(recipe, sources, compiled):
    step = recipe.step.model_copy(update={"compile": compiled})
    model = recipe.model.model_copy(update={"dropout": 0.0})
    parts = build(recipe.model_copy(update={"step": step, "model": model}), sources)
    parts.model.train()
    return parts


def take(parts, count):
    stream = parts.stream.batches(0)
    taken = [next(stream) for _ in range(count)]
    stream.close()
    return taken


def mean_fill(steps):
    slots = sum(batch.source.ids.numel() + batch.target.ids.numel() for batches in steps for batch in batches)
    return sum(batch.num_tokens for batches in steps for batch in batches) / slots


def measure(parts, steps, objective, windows, repetitions):
    """Median real tokens a second over the repetitions, after one that warms up."""
    tokens = sum(window.num_tokens for window, _ in windows)
    rates, first = [], None
    for repetition in range(repetitions + 1):
        begun = time.perf_counter()
        for batches in steps:
            report = take_step(
                objective,
                parts.stepper.optimizer,
                batches,
                clip=parts.stepper.clip,
                scale=parts.stepper.scale,
                learning_rate=0.0,
            )
            if first is None:
                first = float(report.loss)
        if parts.device.type == "cuda":
            torch.cuda.synchronize()
        if repetition:
            rates.append(tokens / (time.perf_counter() - begun))
    return {"tokens_per_second": statistics.median(rates), "each": rates, "first_loss": first}


def padded(window, slots, *, sort, parts):
    """The window as batches of padded rows whose slots, padding included, stay within a budget on each side."""
    lengths = np.stack([window.source.lengths, window.target.lengths])
    order = np.lexsort(lengths) if sort else np.arange(lengths.shape[1])
    batches, rows, longest = [], [], np.zeros(2, int)
    for i in order:
        grown = np.maximum(longest, lengths[:, i])
        if rows and (grown * (len(rows) + 1)).max() > slots:
            batches.append(batch_of(window, rows, longest, parts))
            rows, grown = [], lengths[:, i]
        rows.append(i)
        longest = grown
    return [*batches, batch_of(window, rows, longest, parts)]


class PaddedBatch:
    """Rows of equal length on both sides, as streams, with the layouts that mask their padding."""

    def __init__(self, source, target, labels, layouts, num_targets, num_tokens):
        self.source, self.target, self.labels, self.layouts = source, target, labels, layouts
        self.num_targets, self.num_tokens = num_targets, num_tokens


def batch_of(window, rows, longest, parts):
    tokenizer, device = parts.datasets.tokenizer, parts.device
    sides, layouts = [], []
    for ragged, width in ((window.source, int(longest[0])), (window.target, int(longest[1]))):
        ids = np.full((len(rows), width), tokenizer.pad)
        for place, row in enumerate(rows):
            ids[place, : len(ragged.row(row))] = ragged.row(row)
        real = torch.from_numpy(np.arange(width) < ragged.lengths[rows][:, None]).to(device)
        cu_seqlens = torch.arange(len(rows) + 1, dtype=torch.int32, device=device) * width
        layouts.append(
            SequenceLayout(cu_seqlens, width, torch.arange(len(rows) * width, device=device), real)
        )
        sides.append((torch.from_numpy(ids).to(device), real))
    (source, _), (target, real) = sides
    inputs = torch.cat([torch.full_like(target[:, :1], tokenizer.start), target[:, :-1]], dim=1)
    labels = torch.where(real, target, IGNORE).flatten()
    count = int(real.sum())
    tokens = count + int(layouts[0].real.sum())
    return PaddedBatch(stream_of(source), stream_of(inputs), labels, layouts, count, tokens)


def stream_of(ids):
    rows, width = ids.shape
    positions = torch.arange(width, device=ids.device).repeat(rows)
    segments = torch.arange(rows, device=ids.device).repeat_interleave(width)
    cu_seqlens = torch.arange(rows + 1, dtype=torch.int32, device=ids.device) * width
    return Stream(ids.flatten(), positions, segments, cu_seqlens, width)


def objective_of(parts):
    def objective(batch) -> LossOutput:
        with autocast(parts.precision, parts.device) if parts.precision != "fp32" else nullcontext():
            memory = parts.model.encode(batch.source, batch.layouts[0])
            hidden = parts.model.decode(batch.target, memory, batch.layouts[1], batch.layouts[0])
            return parts.stepper.loss.loss(hidden, parts.model.output_matrix, batch.labels)

    return objective


if __name__ == "__main__":
    main()
