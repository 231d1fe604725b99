"""Loss and gradient norm, step by step, of eleven healthy runs: what a guard must not refuse.

    python benchmarks/healthy_runs.py --out tests/guard/healthy_runs.json [--steps 400] [--text DIR] [--only NAME]

Ten recipes of translation on the demo's text that a user would write: other optimizers, schedules, batch sizes, norms
and rates. Each ends with a lower loss than it had at a quarter of its length, or the script fails: a run that does not
learn is not healthy. The eleventh is a small language model on text of many kinds, in DIR as
`recipes/lm_en_small.yaml` wants it, whose windows differ more. What is not run again stays as it is in the file.
`tests/guard/test_healthy_runs.py` replays them.
"""

import argparse
import json
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import torch

from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.launch import train

RUNS = {
    "adamw": [],
    "adamw, small steps": ["step.tokens_per_step=256", "step.optimizer.learning_rate=7e-4"],
    "adamw, short warmup": ["step.schedule.warmup=20 steps"],
    "adamw, no smoothing": ["loss.label_smoothing=0"],
    "stable_adamw, cosine": [
        "step.optimizer={kind: stable_adamw, learning_rate: 2e-3}",
        "step.schedule={kind: cosine, warmup: 100 steps}",
    ],
    "adafactor, inverse_sqrt": [
        "step.optimizer={kind: adafactor}",
        "step.schedule={kind: inverse_sqrt, warmup: 200 steps}",
    ],
    "lion, one_cycle": [
        "step.optimizer={kind: lion, learning_rate: 3e-4}",
        "step.schedule={kind: one_cycle}",
    ],
    "sgd, constant": [
        "step.optimizer={kind: sgd, learning_rate: 0.5}",
        "step.schedule={kind: constant, warmup: 50 steps}",
    ],
    "noam, adaptive clip": [
        "step.optimizer.learning_rate=1",
        "step.schedule={kind: noam, warmup: 400 steps}",
        "step.clip={kind: adaptive}",
    ],
    "rms, rotary, swiglu": ["model.norm=rms", "model.positions=rotary", "model.activation=swiglu"],
}

LANGUAGE_MODEL = "language model, text of many kinds"
OF_TEXT = [
    "model={kind: decoder, dim: 96, layers: 2, heads: 4, feed_forward: 256, qk_norm: true, dropout: 0.1}",
    "data.tokenizer.vocabulary_size=4000",
    "data.max_tokens=256",
    "step.tokens_per_step=4096",
    "step.tokens_per_micro_batch=4096",
    "step.schedule.warmup=50 steps",
]
"""A model that two cores train in minutes."""
RECIPES = Path(__file__).parents[1] / "recipes"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--text", type=Path, help="folder of train.txt.xz and dev.txt.xz")
    parser.add_argument("--only", help="this run alone")
    args = parser.parse_args()
    out = Path(args.out)
    runs = json.loads(out.read_text())["runs"] if out.exists() else {}
    works = dict(RUNS) | ({LANGUAGE_MODEL: OF_TEXT} if args.text else {})
    for name in [args.only] if args.only else works:
        with tempfile.TemporaryDirectory() as folder:
            runs[name] = measured(name, works[name], args, Path(folder) / "run")
        print(name, len(runs[name]["loss"]), runs[name]["loss"][-1], flush=True)
    result = {
        "question": "what loss and gradient norm do healthy runs show?",
        "torch": torch.__version__,
        "command": " ".join(["python", *sys.argv]),
        "runs": runs,
    }
    out.write_text(json.dumps(result) + "\n")


def measured(name, changes, args, folder):
    """One run: its overrides, and five digits of loss and norm for each step."""
    demo, steps, of_text = files("trimtab.demo"), args.steps, name == LANGUAGE_MODEL
    fixed = [
        f"data.root={args.text.absolute() if of_text else demo / 'data'}",
        f"length={steps} steps",
        f"evaluate.every={steps} steps",
        f"checkpoint.every={steps} steps",
    ]
    fixed += ["evaluate.metrics=[loss]", "evaluate.best.metric=loss"]
    recipe = RECIPES / "lm_en_small.yaml" if of_text else demo / "recipe.yaml"
    # No step is refused, so that the guard can be asked of all of them afterwards.
    train(load_recipe(str(recipe), [*fixed, *changes, "guard.outliers=false"]), out=folder)
    lines = list(read_journal(folder / "metrics.jsonl"))
    loss = [line["loss"] for line in lines]
    assert sum(loss[-20:]) < sum(loss[steps // 4 : steps // 4 + 20]), f"{changes}: does not learn"
    return {
        "changes": changes,
        "loss": [float(f"{each:.5g}") for each in loss],
        "grad_norm": [float(f"{line['grad_norm']:.5g}") for line in lines],
    }


if __name__ == "__main__":
    main()
