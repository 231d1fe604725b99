"""Recipes to plan, as dicts that every test changes a little."""

import json
from functools import cache
from pathlib import Path

from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.fit.ask import Subject
from trimtab.fit.gpus import Gpu, of_memory
from trimtab.fit.memory_size import GIB


def text_recipe(**overrides: object) -> Recipe:
    """A language model of 42 million parameters."""
    return loaded("text", json.dumps(overrides))


def pairs_recipe(**overrides: object) -> Recipe:
    """A translator of the base preset."""
    return loaded("pairs", json.dumps(overrides))


@cache
def loaded(kind: str, overrides: str) -> Recipe:
    changes = {key.replace("__", "."): value for key, value in json.loads(overrides).items()}
    return load_recipe(TREES[kind], changes).recipe


PAIR = {"source": "train.en", "target": "train.de"}
TREES = {
    "text": {
        "task": "language_model",
        "data": {"train": [{"text": "train.txt"}], "valid": {"text": "valid.txt"}, "max_tokens": 512},
        "model": {"kind": "decoder", "preset": "small"},
        "step": {"tokens_per_step": 32768, "tokens_per_micro_batch": 32768},
        "length": "500 steps",
    },
    "pairs": {
        "data": {"train": [PAIR], "valid": PAIR, "max_tokens": 128},
        "model": {"preset": "base"},
        "length": "500 steps",
    },
}


def subject_of(recipe: Recipe, folder: Path = Path()) -> Subject:
    return Subject("recipe.yaml", recipe, folder)


def card(gib: float) -> Gpu:
    return of_memory(int(gib * GIB))
