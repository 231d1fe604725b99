"""Does a small translator learn more from a larger one's hidden vectors than from the labels alone?

    pip install ".[train]"
    python experiments/feature_matching.py

For each seed a teacher of 3 layers trains on the English-German messages of the demo's sample. Two students of one
layer and half its width train for half as many steps on the same batches with the same tokenizer, one of them with
`loss.feature_matching`. The score is the loss on the sample's validation set, in nats per target token.
"""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any

from experiment import Claim, Experiment, Numbers, main

from trimtab import train

STEPS, QUICK_STEPS = 300, 20
MARGIN = 0.02
ARMS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "cosine": {"teacher": "teacher", "weight": 1.0, "distance": "cosine"},
}


def measure(seed: int, quick: bool) -> Numbers:
    """The loss on the validation set of the teacher and of each student."""
    steps = QUICK_STEPS if quick else STEPS
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        found = {"teacher": trained(folder, "teacher", seed, {"dim": 64, "layers": 3}, steps=steps)}
        for arm, matching in ARMS.items():
            changes = {"dim": 32, "layers": 1}
            found[arm] = trained(folder, arm, seed, changes, steps=steps // 2, matching=matching)
    return found


def trained(
    folder: Path,
    name: str,
    seed: int,
    model: dict[str, int],
    *,
    steps: int,
    matching: dict[str, Any] | None = None,
) -> float:
    """Trains a run of this name and gives its last loss."""
    tokenizer: dict[str, Any] = {"kind": "sentencepiece", "vocabulary_size": 1000, "byte_fallback": False}
    if name != "teacher":
        (path,) = (folder / "teacher" / "tokenizer").glob("*.model")
        tokenizer = {"kind": "sentencepiece", "path": str(path)}
    sides = {"source": 1, "target": 2}
    recipe = {
        "task": "translation",
        "data": {
            "root": str(files("trimtab.demo") / "data"),
            "train": [{"pairs": "train.tsv.xz", **sides}],
            "valid": {"prose": {"pairs": "valid.tsv.xz", **sides}},
            "tokenizer": tokenizer,
            "max_tokens": 32,
            "workers": 0,
        },
        "model": {"heads": model["dim"] // 16, "feed_forward": 4 * model["dim"], "dropout": 0.0, **model},
        "loss": {"label_smoothing": 0.0, "feature_matching": matching},
        "step": {
            "tokens_per_step": 512,
            "optimizer": {"kind": "adamw", "learning_rate": 3e-3, "betas": [0.9, 0.98]},
            "schedule": {"kind": "linear_warmup", "warmup": f"{steps // 10} steps"},
        },
        "length": f"{steps} steps",
        "evaluate": {"every": f"{steps} steps", "metrics": ["chrf"], "lines": 8, "samples": 0},
        "checkpoint": {"every": f"{steps} steps", "keep": 1},
        "seed": seed,
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(recipe), encoding="utf-8")  # JSON is YAML too
    run = train(path, out=folder / name).run
    return json.loads((run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()[-1])["loss"]


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By the loss of every seed."""
    by_arm = {arm: [seed[arm] for seed in result["seeds"].values()] for arm in ("teacher", *ARMS)}
    gains = [a - b for a, b in zip(by_arm["plain"], by_arm["cosine"], strict=True)]
    return [
        Claim(
            f"the teacher is better than the students: {mean(by_arm['teacher']):.3f} against "
            f"{mean(by_arm['plain']):.3f}",
            all(a < b for a, b in zip(by_arm["teacher"], by_arm["plain"], strict=True)),
        ),
        Claim(
            f"matching lowers the loss of a student by more than {MARGIN}: {min(gains):+.3f} to {max(gains):+.3f}",
            min(gains) > MARGIN,
        ),
    ]


EXPERIMENT = Experiment(
    name="feature_matching",
    question="does a small translator learn more from a larger one's hidden vectors than from labels alone?",
    arms=tuple(ARMS),
    measure=measure,
    measures="loss on the validation set in nats per target token, of the teacher and of each student",
    expect="matching lowers the loss by more than 0.02 in every seed, since a vector says more than a label",
    rule="the loss of every seed; matching is confirmed if it helps by more than the margin in each",
    decide=decide,
    budget="15 runs of about ten seconds of one CPU core",
    supports=(),
    seeds=(1, 2, 3, 4, 5),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
