"""A run folder written by hand, in the form that a run writes: seconds faster than training, and as odd as needed."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RECIPE = """\
task: translation
data:
  train: [{source: train.en, target: train.de}]
model: {kind: encoder_decoder, preset: tiny}
step:
  optimizer: {kind: adamw, learning_rate: 0.002}
  clip: {kind: global_norm, at: 1.0}
guard: {outliers: true, window: 128, active_from: 64, loss_deviations: 8.0, norm_deviations: 10.0}
length: 300 steps
evaluate: {every: 100 steps, metrics: [bleu, chrf], best: {metric: chrf}}
"""
HOSTILE = "<script>document.title='owned'</script></script><!-- <img src=x onerror=alert(1)> \u2028 & \"'"
ARABIC, JAPANESE = "الشراع القديم يدور ببطء", "大きな舵は水をしっかりと保持します。"


def step_line(step: int, **changes: Any) -> dict[str, Any]:
    """A line of metrics.jsonl."""
    loss = 2 + 5 * math.exp(-step / 60) + 0.05 * math.sin(step)
    return {
        "step": step,
        "target_tokens": 500,
        "tokens": 950,
        "epoch": step / 80,
        "updates": step,
        "loss": loss,
        "grad_norm": 0.6 + 0.1 * math.cos(step),
        "clipped": step % 50 == 0,
        "skipped": False,
        "learning_rate": 0.002 * min(1, step / 50),
        "tokens_per_second": 1000.0 + step % 7,
        "seconds": step * 0.9,
    } | changes


def evaluation_line(step: int, **changes: Any) -> dict[str, Any]:
    """A line of evaluations.jsonl."""
    return {
        "step": step,
        "set": "dev",
        "loss": 3 - step / 300,
        "bleu": step / 30,
        "chrf": step / 10,
        "seconds": 2.5,
    } | changes


def finding_line(step: int, **changes: Any) -> dict[str, Any]:
    """A line of findings.jsonl."""
    found = {
        "step": step,
        "code": "S902",
        "name": "loss-spike",
        "severity": "warning",
        "message": f"step {step} was skipped",
    }
    return found | {"why": "far harder", "fix": "read `quarantine.jsonl`", "where": ""} | changes


def sentences_line(step: int) -> dict[str, Any]:
    """A line of sentences.jsonl: long lines are translated worse."""
    words = [1 + number % 20 for number in range(60)]
    shown = {"source": ARABIC, "translation": JAPANESE, "reference": HOSTILE}
    return {
        "step": step,
        "set": "dev",
        "metric": "chrf",
        "words": words,
        "scores": [90 - 3 * each for each in words],
        "worst": [{"line": 20, "score": 30.0, **shown}],
        "best": [{"line": 1, "score": 87.0, **shown}],
        "attention": [{"source": ["old", "end"], "target": ["alte", "end"], "percent": [[91, 9], [20, 80]]}],
    }


FACTS = {
    "machine": {"device": "NVIDIA H200", "system": "Linux x86_64", "cores": 16, "cuda": "12.8"},
    "command": ["trimtab", "train", "my.yaml", "seed=2"],
    "examples": {
        "seen": 100,
        "dropped": {"too_long": 10},
        "sides": [
            {"name": "source", "tokens": 1000, "unknown": 30, "bins": [0, 4, 9, 2], "width": 8,
             "median": 17, "longest": 30},
            {"name": "target", "tokens": 1200, "unknown": 0, "bins": [], "width": 1, "median": 0, "longest": 0},
        ],
    },
    "memory": {
        "planned": {"reserved": 10_000_000_000, "card": 141_000_000_000, "owners": {"weights": 4e9, "moments": 6e9}},
        "measured": {"reserved": 11_000_000_000},
    },
}  # fmt: skip


def write_lines(path: Path, lines: Sequence[Any]) -> None:
    """A log of these objects."""
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")


def write_run(folder: Path, *, steps: int = 300, recipe: str = RECIPE, **logs: Sequence[Any]) -> Path:
    """A finished run; a log that is named replaces its own."""
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(recipe)
    own: dict[str, Sequence[Any]] = {
        "metrics": [step_line(step, **({"loss": 40.0, "skipped": True, "refused": "loss_spike"} if step == 200 else {}))
                    for step in range(1, steps + 1)],
        "evaluations": [evaluation_line(step) for step in (100, 200, 300)],
        "health": [
            {"step": step, "clip_rate": 0.02, "data_wait": 0.3, "rms_by_depth": {"encoder.blocks.0": 2.0, "last": 4.0},
             "update_ratios": {"embedding.weight": 0.004, "odd": 0.4}}
            for step in (100, 200, 300)
        ],
        "sentences": [sentences_line(step) for step in (200, 300)],
        "findings": [finding_line(200)],
        "samples": [
            {"step": step, "set": "dev", "line": line, "source": source, "translation": text, "reference": text + "."}
            for step in (100, 200, 300)
            for line, source, text in (
                (1, HOSTILE, f"{HOSTILE} {step}"), (2, ARABIC, f"{ARABIC} {step}"), (3, JAPANESE, JAPANESE),
            )
        ],
        "quarantine": [
            {"step": 200, "corpus": "train", "line": 7, "place": "train.en:7", "source": HOSTILE, "target": ARABIC,
             "loss": 40.0, "reason": "loss 40 a token", "code": "S902"},
        ],
    }  # fmt: skip
    for name, lines in {**own, **logs}.items():
        write_lines(folder / f"{name}.jsonl", lines)
    ledger = {
        "corpora": [
            {
                "name": "train",
                "seen": 100,
                "kept": 90,
                "dropped": {"too_long": {"count": 10, "lines": [3, 5]}},
            }
        ]
    }
    (folder / "data_ledger.json").write_text(json.dumps(ledger))
    (folder / "facts.json").write_text(json.dumps(FACTS))
    for step in (200, 300):
        write_checkpoint(folder / "checkpoints" / f"step-{step:08d}", step)
    return folder


def write_checkpoint(folder: Path, step: int) -> None:
    """A checkpoint whose tensors are not there but in its manifest."""
    folder.mkdir(parents=True)
    for name, content in (
        ("model.safetensors", b"12345678"),
        ("state.json", json.dumps({"best": {"step": 300}}).encode()),
    ):
        (folder / name).write_bytes(content)
    manifest = {
        "step": step,
        "files": {
            name: {"size": (folder / name).stat().st_size} for name in ("model.safetensors", "state.json")
        },
        "tensors": {
            "model.safetensors": {
                "a": {"dtype": "F32", "shape": [10, 20]},
                "b": {"dtype": "F32", "shape": []},
            }
        },
        "versions": {"python": "3.11.7", "torch": "2.13.0", "trimtab": "0.1.0"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
