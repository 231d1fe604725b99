"""A run of a language model that takes seconds: documents of a few words, and a recipe to learn them."""

import copy
import json
import random
from pathlib import Path
from typing import Any

from tests.small_run import WORDS, _put, small_pairs, write_pairs

TRAIN_DOCUMENTS, VALID_DOCUMENTS = 60, 6


def small_documents(count: int, *, seed: int = 1) -> list[str]:
    """Documents of 1 to 6 lines of 2 to 8 words; some are much longer than a row."""
    draw = random.Random(seed)
    words = list(WORDS)
    return [
        "\n".join(
            " ".join(draw.choices(words, k=draw.randint(2, 8))) for _ in range(draw.choice([1, 2, 3, 6, 20]))
        )
        for _ in range(count)
    ]


def language_recipe(folder: Path, **changes: Any) -> Path:
    """Writes train.txt, dev.txt and recipe.yaml into a folder; changes are dotted keys, None takes a key away."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", TRAIN_DOCUMENTS, 1), ("dev", VALID_DOCUMENTS, 2)):
        (folder / f"{name}.txt").write_text("\n\n".join(small_documents(count, seed=seed)) + "\n")
    write_pairs(folder, "train", small_pairs(200))
    write_pairs(folder, "dev", small_pairs(24, seed=2))
    tree = _recipe()
    for key, value in changes.items():
        _put(tree, key.split("."), copy.deepcopy(value))  # later keys may change it
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    return path


PAIRS: dict[str, Any] = {
    "data.train": [{"source": "train.en", "target": "train.de"}],
    "data.valid": {"source": "dev.en", "target": "dev.de"},
    "data.max_tokens": 64,
}
"""Changes for a language model of pairs."""


def language_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `language_recipe` with absolute paths, and its opened data."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(language_recipe(folder, **changes)))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def language_parts(folder: Path, **changes: Any) -> Any:
    """The parts of `language_recipe`, built and not trained."""
    from trimtab.build import build

    return build(*language_sources(folder, **changes))


def _recipe() -> dict[str, Any]:
    return {
        "task": "language_model",
        "data": {
            "train": [{"text": "train.txt"}],
            "valid": {"text": "dev.txt"},
            "tokenizer": {"vocabulary_size": 310, "character_coverage": 1.0},
            "max_tokens": 32,
            "workers": 0,
        },
        "model": {"kind": "decoder", "dim": 32, "heads": 2, "layers": 1, "feed_forward": 64},
        "step": {
            "tokens_per_step": 256,
            "tokens_per_micro_batch": 128,
            "optimizer": {"kind": "adamw", "learning_rate": 1e-2},
            "schedule": {"kind": "linear_warmup", "warmup": "5 steps"},
        },
        "length": "20 steps",
        "evaluate": {"every": "10 steps"},
        "checkpoint": {"every": "10 steps", "keep": 3},
    }
