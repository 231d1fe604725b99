"""A run of a diffusion model that takes seconds: disks and squares of 16 pixels, in folders by class."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.small_run import _put

TRAIN_IMAGES, VALID_IMAGES = 24, 8
"""Of each class."""
CLASSES = ("disk", "square")


def draw_shape(name: str, *, seed: int, side: int = 16) -> Image.Image:
    """A light shape of a random place, size and lightness on black."""
    draw = np.random.default_rng((seed, CLASSES.index(name)))
    radius, level = draw.uniform(3, 5), draw.integers(180, 256)
    row, column = draw.uniform(radius, side - radius, 2)
    rows, columns = np.mgrid[:side, :side] + 0.5
    across, down = np.abs(columns - column), np.abs(rows - row)
    inside = np.hypot(across, down) < radius if name == "disk" else np.maximum(across, down) < radius * 0.8
    return Image.fromarray((inside * level).astype(np.uint8))


def write_shapes(folder: Path, count: int, *, seed: int = 1) -> Path:
    """A folder with a subfolder for each class."""
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            draw_shape(name, seed=1000 * seed + number).save(folder / name / f"{number:03}.png")
    return folder


def diffusion_recipe(folder: Path, **changes: Any) -> Path:
    """Writes images and recipe.yaml into a folder; changes are dotted keys, None takes a key away."""
    write_shapes(folder / "train", TRAIN_IMAGES)
    write_shapes(folder / "valid", VALID_IMAGES, seed=2)
    tree = _recipe()
    for key, value in changes.items():
        _put(tree, key.split("."), value)
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    return path


def diffusion_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `diffusion_recipe` with absolute paths, and its opened data."""
    from tests.image_run import sources_of

    diffusion_recipe(folder, **changes)
    return sources_of(folder)


AUTOENCODER = {"kind": "autoencoder", "dim": 8, "blocks": 1, "reduction": 4, "latent_channels": 2}
LATENT = {
    "kind": "diffusion_transformer", "dim": 16, "heads": 2, "layers": 1, "feed_forward": 32, "patch": 1,
    "sampling": {"steps": 3},
}  # fmt: skip
CLASSIFIER = {
    "kind": "image_classifier", "dim": 16, "heads": 2, "layers": 1, "feed_forward": 32, "patch": 4, "dropout": 0.0,
}  # fmt: skip
CLASSIFIES = {"task": "image_classification", "model": CLASSIFIER, "evaluate.every": "3 steps"}


def with_model(opened: Any, **changes: Any) -> Any:
    """The recipe and the data of a small run with other settings of the model."""
    from dataclasses import replace

    from trimtab.tasks.diffusion.process import Process

    recipe, datasets = opened
    model = recipe.model.model_copy(update=changes)
    recipe = recipe.model_copy(update={"model": model})
    return recipe, replace(datasets, process=Process.of(model))


def _recipe() -> dict[str, Any]:
    return {
        "task": "diffusion",
        "data": {
            "train": [{"images": "train"}],
            "valid": {"images": "valid"},
            "images": {"size": 16, "channels": "grey"},
            "workers": 0,
        },
        "model": {
            "kind": "diffusion_transformer",
            "dim": 16,
            "heads": 2,
            "layers": 1,
            "feed_forward": 32,
            "patch": 4,
            "sampling": {"steps": 3},
        },
        "step": {
            "tokens_per_step": 8,
            "optimizer": {"kind": "adamw", "learning_rate": 0.003},
            "schedule": {"kind": "constant", "warmup": "2 steps"},
        },
        "length": "6 steps",
        "evaluate": {"every": "3 steps", "samples": 2},
        "checkpoint": {"every": "3 steps"},
    }
