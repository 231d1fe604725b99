"""Runs of four steps, and what is asked of a run folder afterwards."""

import hashlib
from pathlib import Path
from typing import Any

from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.step_folders import step_name
from trimtab.checkpoint.store import CheckpointStore
from trimtab.types import TrainState

SHORT = {"length": "4 steps", "step.schedule.warmup": "2 steps", "evaluate.every": "50 steps"}
"""Changes of `small_recipe`: one checkpoint, at the end."""
TIMES = {"seconds", "tokens_per_second"}


def model_sha(run: Path, step: int) -> str:
    return hashlib.sha256(
        (run / "checkpoints" / step_name(step) / "model.safetensors").read_bytes()
    ).hexdigest()


def log(run: Path, name: str) -> list[dict[str, Any]]:
    """The records of a log without what depends on the clock."""
    records = read_journal(run / f"{name}.jsonl")
    return [{key: value for key, value in each.items() if key not in TIMES} for each in records]


def newest_state(run: Path) -> TrainState:
    return CheckpointStore(run / "checkpoints", keep=9).latest().load_state()
