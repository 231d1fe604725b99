"""A run of a detector that takes seconds: red and blue rectangles on small images, and a recipe to find them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from tests.small_run import _put

TRAIN_IMAGES, VALID_IMAGES = 12, 4
CATEGORIES = ({"id": 3, "name": "red"}, {"id": 7, "name": "blue"})
COLORS = ((200, 30, 30), (30, 30, 200))


def write_boxes(folder: Path, count: int, *, seed: int = 1, side: int = 48) -> Path:
    """Images, tall and wide in turn, with a COCO file beside them; the last one shows nothing."""
    draw = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    images, annotations = [], []
    for number in range(count):
        size = (side, side * 3 // 4) if number % 2 else (side * 3 // 4, side)
        image = Image.new("RGB", size, (230, 230, 230))
        for _ in range(int(draw.integers(1, 4)) if number < count - 1 else 0):
            wide, high = (int(each) for each in draw.integers(8, 20, 2))
            left, top = int(draw.integers(0, size[0] - wide)), int(draw.integers(0, size[1] - high))
            kind = int(draw.integers(0, 2))
            box = [left, top, left + wide - 1, top + high - 1]
            ImageDraw.Draw(image).rectangle(box, fill=COLORS[kind])
            annotations.append(
                {"id": len(annotations) + 1, "image_id": number + 1, "category_id": CATEGORIES[kind]["id"],
                 "bbox": [left, top, wide, high], "area": wide * high, "iscrowd": 0}
            )  # fmt: skip
        image.save(folder / "images" / f"{number}.png")
        images.append({"id": number + 1, "file_name": f"{number}.png", "width": size[0], "height": size[1]})
    tree = {"images": images, "annotations": annotations, "categories": [*CATEGORIES]}
    (folder / "boxes.json").write_text(json.dumps(tree), encoding="utf-8")
    return folder / "boxes.json"


def box_recipe(folder: Path, **changes: Any) -> Path:
    """Writes images and recipe.yaml into a folder; changes are dotted keys, None takes a key away."""
    write_boxes(folder / "train", TRAIN_IMAGES)
    write_boxes(folder / "dev", VALID_IMAGES, seed=2)
    tree = _recipe()
    for key, value in changes.items():
        _put(tree, key.split("."), value)
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    return path


def box_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `box_recipe` with absolute paths, and its opened data."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths

    path = box_recipe(folder, **changes)
    return resolve_paths(load_recipe(path)), reopened(folder)


SMALL_MODEL = {
    "kind": "detector", "dim": 16, "heads": 2, "decoder_layers": 2, "feed_forward": 16, "backbone_width": 16,
    "queries": 8,
}  # fmt: skip


def _recipe() -> dict[str, Any]:
    return {
        "task": "detection",
        "data": {
            "train": [{"boxes": "train/boxes.json"}],
            "valid": {"boxes": "dev/boxes.json"},
            "canvas": {"size": 64, "augment": None},
            "workers": 0,
        },
        "model": {**SMALL_MODEL},
        "step": {
            "tokens_per_step": 4,
            "optimizer": {"kind": "adamw", "learning_rate": 0.001},
            "schedule": {"kind": "constant", "warmup": "1 steps"},
        },
        "length": "2 steps",
        "evaluate": {"every": "2 steps", "samples": 1},
        "checkpoint": {"every": "1 steps"},
    }


def reopened(folder: Path) -> Any:
    """The data of a folder that `box_sources` wrote, as it is now."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(folder / "recipe.yaml"))
    return open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())
