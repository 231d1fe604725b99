"""A modular run that takes seconds: three small languages word by word, in both directions, with shared and own
components."""

from pathlib import Path
from typing import Any

from tests.small_run import TRAIN_PAIRS, VALID_PAIRS, small_pairs, small_recipe

DIRECTIONS: dict[str, Any] = {
    "en-de": {"encoder": ["shared"], "decoder": ["de"]},
    "de-en": {"encoder": ["shared", "de"], "decoder": ["en"]},
    "en-pt": {"encoder": ["shared"], "decoder": ["pt"]},
    "pt-en": {"encoder": ["shared"], "decoder": ["en"]},
}
MODEL: dict[str, Any] = {
    "kind": "modular",
    "dim": 16,
    "heads": 2,
    "feed_forward": 32,
    "dropout": 0.0,
    "encoder_components": {"shared": 1, "de": 1},
    "decoder_components": {"de": 1, "en": 1, "pt": 1},
    "directions": DIRECTIONS,
}


def modular_recipe(folder: Path, **changes: Any) -> Path:
    """Writes corpora of en, de and pt and a recipe into a folder; changes are as those of `small_recipe`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", TRAIN_PAIRS, 3), ("dev", VALID_PAIRS, 4)):
        pairs = small_pairs(count, seed=seed)
        (folder / f"{name}2.en").write_text("".join(f"{en}\n" for en, _ in pairs), encoding="utf-8")
        text = "".join(" ".join(f"{word[::-1]}o" for word in en.split()) + "\n" for en, _ in pairs)
        (folder / f"{name}2.pt").write_text(text, encoding="utf-8")
    both: dict[str, Any] = {"both_directions": True}
    tree: dict[str, Any] = {
        "data.train": [
            {"source": "train.en", "target": "train.de", "direction": "en-de", **both},
            {"source": "train2.en", "target": "train2.pt", "direction": "en-pt", **both},
        ],
        "data.valid": {
            "en-de": {"source": "dev.en", "target": "dev.de"},
            "pt-en": {"source": "dev2.pt", "target": "dev2.en"},
        },
        "data.tokenizer.vocabulary_size": 80,
        "model": MODEL,
        **changes,
    }
    return small_recipe(folder, **tree)


def modular_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `modular_recipe` with absolute paths, and its opened data."""
    from trimtab.config.load import load_recipe  # late: tests of the light half need no torch
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(modular_recipe(folder, **changes)))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())
