"""Does it matter how a step is cut into micro-batches? Here, and in the Trainer of Hugging Face.

    pip install ".[train]" transformers accelerate
    python benchmarks/accumulation.py --data DIR --out benchmarks/accumulation.json

DIR holds {prose,ui}/{train,dev}.{en,de}.xz. First part: the same recipe with `tokens_per_micro_batch` at the whole
step, a quarter and a sixteenth of it, in float32 without dropout: loss and gradient norm of every step, and how far
they are apart. Second part: one batch of four sentences cut 1, 2 and 4 ways by `gradient_accumulation_steps` of the
Trainer, with MarianMT; and the same model, sentences and cuts through `trimtab.step.accumulate`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import torch
from four_sentences import four_sentences

from trimtab.build import build
from trimtab.config.load import parse_recipe
from trimtab.config.paths import resolve_paths
from trimtab.progress import Silent
from trimtab.step.accumulate import accumulate
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.training.preflight.weights import gathered
from trimtab.types import TrainState

SHARES = (1, 4, 16)
STEPS = 20
BOUNDS = {"same weights": 1e-6, "20 steps later": 5e-4}
RECIPE = """
data:
  root: {data}
  train:
    - {{source: prose/train.en.xz, target: prose/train.de.xz}}
    - {{source: ui/train.en.xz, target: ui/train.de.xz}}
  valid: {{source: prose/dev.en.xz, target: prose/dev.de.xz}}
  tokenizer: {{kind: sentencepiece, vocabulary_size: 4000, training_lines: 40000}}
  max_tokens: 128
  workers: 0
model: {{kind: encoder_decoder, preset: tiny, dropout: 0.0}}
loss: {{kind: cross_entropy, label_smoothing: 0.1}}
step:
  tokens_per_step: {tokens}
  tokens_per_micro_batch: {tokens}
  precision: fp32
  compile: "off"
  optimizer: {{kind: adamw, learning_rate: 5.0e-4}}
  schedule: {{kind: linear_warmup, warmup: 10 steps}}
length: 1000 steps
seed: 1
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    default = 32768 if torch.cuda.is_available() else 4096
    parser.add_argument("--tokens-per-step", type=int, default=default)
    parser.add_argument("--without-trainer", action="store_true")
    args = parser.parse_args()
    started = time.perf_counter()
    loaded = parse_recipe(RECIPE.format(data=json.dumps(args.data), tokens=args.tokens_per_step))
    recipe = resolve_paths(loaded)
    with tempfile.TemporaryDirectory() as folder:
        sources = open_datasets(recipe, tokenizer_folder=Path(folder), progress=Silent())
    result = {
        "question": "do loss and gradient norm depend on how a step is cut into micro-batches",
        **surroundings(),
        "recipe": loaded.recipe.model_dump(mode="json", exclude_unset=True),
        "trimtab": every_share(recipe, sources),
    }
    if not args.without_trainer:
        result["one batch of four sentences"] = four_sentences(sources)
        print(json.dumps(result["one batch of four sentences"], indent=1), flush=True)
    result["seconds"] = round(time.perf_counter() - started, 1)
    Path(args.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return 0 if result["trimtab"]["holds"] else 1


def surroundings():
    packages = ("torch", "numpy", "sentencepiece", "transformers", "accelerate")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": commit.stdout.strip(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {processor()}",
        "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version()} | {name: installed(name) for name in packages},
    }


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def installed(package):
    try:
        return version(package)
    except ModuleNotFoundError:
        return None


def every_share(recipe, sources):
    runs = {f"1/{share}": run(recipe, sources, share=share) for share in SHARES}
    whole = runs["1/1"]
    differences = {
        share: {
            key: [abs(a - b) / abs(b) for a, b in zip(cut[key], whole[key], strict=True)]
            for key in ("loss", "grad_norm")
        }
        for share, cut in runs.items()
        if share != "1/1"
    }
    largest = {
        "same weights": max(by[key][0] for by in differences.values() for key in by),
        "20 steps later": max(by[key][STEPS] for by in differences.values() for key in by),
        "any step": max(value for by in differences.values() for key in by for value in by[key]),
    }
    for when, bound in BOUNDS.items():
        print(f"largest relative difference, {when}: {largest[when]:.2g} (bound {bound:g})", flush=True)
    return {
        "runs": runs,
        "relative differences from 1/1": differences,
        "largest": largest,
        "bounds": BOUNDS,
        "holds": all(largest[when] <= bound for when, bound in BOUNDS.items()),
    }


def run(recipe, sources, *, share):
    """Steps 1 to 21 of the recipe with its windows cut finer; step 21 is seen after 20 updates."""
    budget = recipe.step.tokens_per_step // share
    step = recipe.step.model_copy(update={"tokens_per_micro_batch": budget})
    parts = build(recipe.model_copy(update={"step": step}), sources)
    found = {"tokens_per_micro_batch": budget, "packs": [], "targets": [], "loss": [], "grad_norm": []}
    state = TrainState()
    parts.model.train()
    started = time.perf_counter()
    for window, packs in parts.stream.batches(0):
        if state.step == 0:
            found |= exact(parts, packs)
        report = take_step(
            parts.stepper.objective,
            parts.stepper.optimizer,
            packs,
            clip=parts.stepper.clip,
            scale=parts.stepper.scale,
            learning_rate=parts.learning_rate.at(state),
        )
        state.step += 1
        found["packs"].append(len(packs))
        found["targets"].append(window.num_targets)
        found["loss"].append(float(report.loss))
        found["grad_norm"].append(float(report.grad_norm))
        if state.step > STEPS:
            break
    found["seconds"] = round(time.perf_counter() - started, 1)
    print(
        f"1/{share}: {found['packs'][0]} packs, loss {found['loss'][0]:.7f} to {found['loss'][-1]:.7f}, "
        f"gradient norm {found['grad_norm'][0]:.7f} to {found['grad_norm'][-1]:.7f}",
        flush=True,
    )
    return found


def exact(parts, packs):
    """Loss and gradient norm of the first step in float64: how much of a difference is rounding."""
    parts.model.double()
    loss = float(accumulate(parts.stepper.objective, packs).loss)
    norm = float(gathered(parts.model).norm())
    parts.model.float()
    return {"first loss in float64": loss, "first grad_norm in float64": norm}


if __name__ == "__main__":
    sys.exit(main())
