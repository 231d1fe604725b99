"""A run of a classifier that takes seconds: sentences of three topics, and a recipe to tell these apart."""

import json
import random
from pathlib import Path
from typing import Any

from tests.small_run import _put

TOPICS = {
    "sea": ("ship", "boat", "sail", "wave", "port", "tide", "anchor", "harbour", "captain", "current"),
    "kitchen": ("pan", "salt", "oven", "soup", "knife", "bread", "kettle", "pepper", "fork", "dough"),
    "garden": ("rose", "seed", "spade", "leaf", "hedge", "bee", "flower", "lawn", "root", "shovel"),
}
SHARED = ("the", "small", "old", "a", "near", "with", "is", "green")
TRAIN_TEXTS, VALID_TEXTS = 180, 30


def small_texts(count: int, *, seed: int = 1) -> list[tuple[str, str]]:
    """Sentences of 3 to 9 words with their topics; the same seed gives the same ones."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        topic = draw.choice(list(TOPICS))
        own = draw.choices(TOPICS[topic], k=draw.randint(1, 3))
        words = own + draw.choices(SHARED, k=draw.randint(2, 6))
        draw.shuffle(words)
        made.append((" ".join(words), topic))
    return made


def write_texts(path: Path, texts: list[tuple[str, str]]) -> None:
    """A text and its label a line, with a tab between."""
    path.write_text("".join(f"{text}\t{label}\n" for text, label in texts), encoding="utf-8")


def label_recipe(folder: Path, **changes: Any) -> Path:
    """Writes train.tsv, dev.tsv and recipe.yaml into a folder; changes are dotted keys, None takes a key away."""
    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder / "train.tsv", small_texts(TRAIN_TEXTS))
    write_texts(folder / "dev.tsv", small_texts(VALID_TEXTS, seed=2))
    tree = _recipe()
    for key, value in changes.items():
        _put(tree, key.split("."), value)
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    return path


def label_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `label_recipe` with absolute paths, and its opened data."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(label_recipe(folder, **changes)))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def label_parts(folder: Path, **changes: Any) -> Any:
    """The parts of `label_recipe`, built and not trained."""
    from trimtab.build import build

    return build(*label_sources(folder, **changes))


def _recipe() -> dict[str, Any]:
    return {
        "task": "classification",
        "data": {
            "train": [{"pairs": "train.tsv", "source": 1, "target": 2}],
            "valid": {"pairs": "dev.tsv", "source": 1, "target": 2},
            "tokenizer": {"vocabulary_size": 66, "byte_fallback": False, "character_coverage": 1.0},
            "max_tokens": 32,
            "workers": 0,
        },
        "model": {"kind": "encoder", "dim": 32, "heads": 2, "layers": 1, "feed_forward": 64},
        "step": {
            "tokens_per_step": 32,
            "tokens_per_micro_batch": 16,
            "optimizer": {"kind": "adamw", "learning_rate": 1e-2},
            "schedule": {"kind": "linear_warmup", "warmup": "5 steps"},
        },
        "length": "40 steps",
        "evaluate": {"every": "20 steps"},
        "checkpoint": {"every": "10 steps", "keep": 3},
    }
