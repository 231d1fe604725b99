"""A recipe of four steps that begins from a pretrained model in `base` beside it."""

from pathlib import Path
from typing import Any

from tests.text_run import text_recipe

SHORT: dict[str, Any] = {
    "length": "4 steps",
    "evaluate": {"every": "4 steps"},
    "checkpoint": {"every": "2 steps"},
    "step.schedule": {"kind": "linear_warmup", "warmup": "1 steps"},
}


def pretrained_recipe(folder: Path, **changes: Any) -> Path:
    """Writes the recipe and its texts into a folder; gives the recipe's path."""
    model = {"kind": "pretrained", "path": "base"}
    return text_recipe(folder, **{"model": model, "data.tokenizer": None, **SHORT, **changes})
