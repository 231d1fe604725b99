"""What healthy runs look like from inside, on the demo's text: what the checks of `trimtab.watch` must not tell.

    python benchmarks/healthy_watch.py --out tests/watch/healthy.json [--steps 400]

The ten recipes of healthy_runs.py. Every 100 steps the smallest and largest of each number is written down;
`tests/watch/test_healthy.py` holds them against the bounds.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import torch
from healthy_runs import RUNS

from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.progress import Silent
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.health import HealthCheck
from trimtab.types import TrainState


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--only", help="one recipe of the ten, added to what the file has")
    args = parser.parse_args()
    out = Path(args.out)
    runs = json.loads(out.read_text())["runs"] if args.only else {}
    for name in [args.only] if args.only else RUNS:
        with tempfile.TemporaryDirectory() as folder:
            runs[name] = measured(RUNS[name], args.steps, Path(folder))
        print(name, runs[name][-1], flush=True)
        result = {
            "question": "what do activations, attention, updates and clipping look like in healthy runs?",
            "torch": torch.__version__,
            "command": " ".join(["python", *sys.argv]),
            "runs": runs,
        }
        out.write_text(json.dumps(result, indent=1) + "\n")


def measured(changes, steps, folder):
    """One run: its numbers every 100 steps, and whatever was found."""
    parts = build(*opened(changes, steps, folder))
    valid = next(iter(parts.datasets.valid.values()))
    health, state, lines = (
        HealthCheck(parts.model, parts.learning_rate, parts.recipe.step.clip),
        TrainState(),
        [],
    )
    for window, packs in parts.stream.batches(0):
        if parts.stop_rule.reached(state):
            break
        parts.stepper.begin(state)
        rate = parts.learning_rate.at(state)
        report = take_step(
            parts.stepper.objective,
            parts.stepper.optimizer,
            packs,
            clip=parts.stepper.clip,
            scale=parts.stepper.scale,
            learning_rate=rate,
        )
        state = replace(state, step=state.step + 1, position=window.position)
        health.after_step(report)
        health.after_flush(
            grad_norm=float(report.grad_norm),
            clipped=bool(report.clipped),
            applied=not report.skipped,
            learning_rate=rate,
        )
        if state.step % 100 == 0:
            parts.model.eval()
            with health.watching(parts.model, valid.rows):
                loss = loss_of(parts, parts.model, valid)
            look = health.look()
            parts.model.train()
            lines.append({"step": state.step, "loss": round(loss, 4), **numbers(health, look)})
    return lines


def opened(changes, steps, folder):
    demo = files("trimtab.demo")
    fixed = [f"data.root={demo / 'data'}", f"length={steps} steps", "evaluate.metrics=[loss]"]
    fixed += ["evaluate.best.metric=loss"]
    recipe = resolve_paths(load_recipe(str(demo / "recipe.yaml"), [*fixed, *changes]))
    return recipe, open_datasets(recipe, tokenizer_folder=folder, progress=Silent())


def numbers(health, look):
    seen, ratios = health.inside.activations, health.ratios.medians()
    found = {
        "growth": [seen.left[name] / seen.entered[name] for name in seen.left],
        "rms": [*seen.left.values()],
        "dead": [*seen.dead.values()],
        "largest_logit": [*health.inside.largest.values()],
        "share": [share for each in health.inside.shares.values() for share in each],
        "ratio": [*ratios.values()],
        "grad_norm": [norm for norm, _ in health.clipping.newest] if health.clipping else [],
    }
    ends = {key: [float(f"{end(each):.4g}") for end in (min, max)] for key, each in found.items() if each}
    return {**ends, "scores": look.scores, "findings": [finding.code for finding in look.findings]}


if __name__ == "__main__":
    main()
