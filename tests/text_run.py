"""A language model that takes seconds: documents of the small language, and a recipe to learn them."""

import json
from pathlib import Path
from typing import Any

from tests.small_run import _put, small_pairs

STEPS = "30 steps"


def documents(count: int, *, seed: int) -> str:
    """Blocks of two to four sentences, a sentence a line."""
    lines = [source for source, _ in small_pairs(3 * count, seed=seed)]
    return "\n\n".join("\n".join(lines[start : start + 3]) for start in range(0, len(lines), 3)) + "\n"


def text_recipe(folder: Path, **changes: Any) -> Path:
    """Writes train.txt, dev.txt and text.yaml into a folder; gives the recipe's path. Changes are dotted keys."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.txt").write_text(documents(120, seed=1), encoding="utf-8")
    (folder / "dev.txt").write_text(documents(12, seed=2), encoding="utf-8")
    tree: dict[str, Any] = {
        "task": "language_model",
        "data": {
            "train": [{"text": "train.txt"}],
            "valid": {"text": "dev.txt"},
            "tokenizer": {"vocabulary_size": 310},
            "max_tokens": 48,
            "workers": 0,
        },
        "model": {"kind": "decoder", "dim": 32, "heads": 4, "kv_heads": 2, "layers": 2, "feed_forward": 48},
        "step": {
            "tokens_per_step": 256,
            "tokens_per_micro_batch": 256,
            "optimizer": {"kind": "adamw", "learning_rate": 0.01},
            "schedule": {"kind": "linear_warmup", "warmup": "5 steps"},
        },
        "length": STEPS,
        "evaluate": {"every": STEPS},
        "checkpoint": {"every": STEPS},
    }
    for key, value in changes.items():
        _put(tree, key.split("."), value)
    path = folder / "text.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    return path


def trained_text_run(folder: Path, **changes: Any) -> Path:
    """The folder of a finished run of `text_recipe` with these changes."""
    from trimtab.launch import train  # late: tests of the light half need no torch

    return train(text_recipe(folder, **changes), out=folder / "run").run
