"""Recipes to plan, as dicts that every test changes a little."""

from pathlib import Path

from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.fit.ask import Subject
from trimtab.fit.gpus import Gpu, of_memory
from trimtab.fit.memory_size import GIB


def text_recipe(**overrides: object) -> Recipe:
    """A language model of 42 million parameters."""
    tree = {
        "task": "language_model",
        "data": {"train": [{"text": "train.txt"}], "valid": {"text": "valid.txt"}, "max_tokens": 512},
        "model": {"kind": "decoder", "preset": "small"},
        "step": {"tokens_per_step": 32768, "tokens_per_micro_batch": 32768},
        "length": "1000 steps",
    }
    return load_recipe(tree, {key.replace("__", "."): value for key, value in overrides.items()}).recipe


def pairs_recipe(**overrides: object) -> Recipe:
    """A translator of the base preset."""
    pair = {"source": "train.en", "target": "train.de"}
    tree = {
        "data": {"train": [pair], "valid": pair, "max_tokens": 128},
        "model": {"preset": "base"},
        "length": "1000 steps",
    }
    return load_recipe(tree, {key.replace("__", "."): value for key, value in overrides.items()}).recipe


def subject_of(recipe: Recipe, folder: Path = Path()) -> Subject:
    return Subject("recipe.yaml", recipe, folder)


def card(gib: float) -> Gpu:
    return of_memory(int(gib * GIB))
