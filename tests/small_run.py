"""A run that takes seconds: a language of twenty words, its translation word by word, and a recipe to learn it."""

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

WORDS = {
    "the": "das",
    "small": "kleine",
    "large": "grosse",
    "red": "rote",
    "green": "gelbe",
    "old": "alte",
    "ship": "schiff",
    "boat": "boot",
    "rudder": "ruder",
    "sail": "segel",
    "wind": "luft",
    "water": "wasser",
    "turns": "dreht",
    "pulls": "zieht",
    "holds": "haelt",
    "finds": "findet",
    "loses": "verliert",
    "slowly": "langsam",
    "never": "nie",
    "always": "immer",
}
TRAIN_PAIRS, VALID_PAIRS = 200, 24


def small_pairs(count: int, *, seed: int = 1) -> list[tuple[str, str]]:
    """Sentences of 2 to 6 words and their translations; the same seed gives the same ones."""
    draw = random.Random(seed)
    words = list(WORDS)
    sentences = [draw.choices(words, k=draw.randint(2, 6)) for _ in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in sentences]


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    """`name.en` and `name.de`, line by line."""
    for side, index in (("en", 0), ("de", 1)):
        lines = "".join(pair[index] + "\n" for pair in pairs)
        (folder / f"{name}.{side}").write_text(lines, encoding="utf-8")


def small_recipe(folder: Path, **changes: Any) -> Path:
    """Writes train.en, train.de, dev.en, dev.de and recipe.yaml into a folder; gives the recipe's path.

    Changes are dotted keys of the recipe, such as `**{"step.tokens_per_step": 128}`; None takes a key away.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_pairs(folder, "train", small_pairs(TRAIN_PAIRS))
    write_pairs(folder, "dev", small_pairs(VALID_PAIRS, seed=2))
    tree = _recipe()
    for key, value in changes.items():
        _put(tree, key.split("."), value)
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")  # JSON is YAML too
    return path


def small_parts(folder: Path, **changes: Any) -> Any:
    """The parts of `small_recipe`, built and not trained; `parts.datasets` are its opened data."""
    from trimtab.build import build  # late: tests of the light half need no torch

    recipe, sources = small_sources(folder, **changes)
    return build(recipe, sources)


def small_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `small_recipe` with absolute paths, and its opened data."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(small_recipe(folder, **changes)))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def _recipe() -> dict[str, Any]:
    return {
        "data": {
            "train": [{"source": "train.en", "target": "train.de"}],
            "valid": {"source": "dev.en", "target": "dev.de"},
            "tokenizer": {"vocabulary_size": 66, "byte_fallback": False, "character_coverage": 1.0},
            "max_tokens": 32,
            "workers": 0,
        },
        "model": {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 64, "dropout": 0.1},
        "loss": {"label_smoothing": 0.0},
        "step": {
            "tokens_per_step": 256,
            "tokens_per_micro_batch": 128,
            "optimizer": {"kind": "adamw", "learning_rate": 1e-2},
            "schedule": {"kind": "linear_warmup", "warmup": "10 steps"},
        },
        "length": "60 steps",
        "evaluate": {"every": "20 steps", "metrics": ["bleu", "chrf"]},
        "checkpoint": {"every": "20 steps", "keep": 3},
    }


def _put(tree: Any, path: list[str], value: Any) -> None:
    *above, last = [int(key) if key.isdecimal() else key for key in path]
    for key in above:
        tree = tree[key] if isinstance(key, int) else tree.setdefault(key, {})
    if value is None:
        tree.pop(last, None)
    else:
        tree[last] = deepcopy(value)  # a later key may change it, and other tests have the same one
