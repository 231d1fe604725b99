"""A run of a recognizer that takes seconds: characters that Pillow's own font draws, and a recipe to read them."""

import json
import random
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from tests.small_run import _put

ALPHABET = "0123456789abc "
TRAIN_LINES, VALID_LINES = 96, 12


def small_lines(count: int, *, seed: int = 1) -> list[str]:
    """Lines of 2 to 6 characters; the same seed gives the same ones."""
    draw = random.Random(seed)
    return ["".join(draw.choices(ALPHABET[:-1], k=draw.randint(2, 6))) for _ in range(count)]


def draw_line(text: str, *, size: int = 20) -> Image.Image:
    """Black on white, in the font that comes with Pillow."""
    font = ImageFont.load_default(size)
    left, top, right, bottom = font.getbbox(text)
    image = Image.new("L", (int(right - left) + 4, int(bottom - top) + 4), 255)
    ImageDraw.Draw(image).text((2 - left, 2 - top), text, fill=0, font=font)
    return image


def write_images(folder: Path, lines: list[str]) -> Path:
    """Images with a labels.tsv beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(lines):
        draw_line(text).save(folder / f"{number}.png")
    rows = "".join(f"{number}.png\t{text}\n" for number, text in enumerate(lines))
    (folder / "labels.tsv").write_text(rows, encoding="utf-8")
    return folder / "labels.tsv"


def image_recipe(folder: Path, **changes: Any) -> Path:
    """Writes images and recipe.yaml into a folder; changes are dotted keys, None takes a key away."""
    write_images(folder / "train", small_lines(TRAIN_LINES))
    write_images(folder / "dev", small_lines(VALID_LINES, seed=2))
    tree = _recipe()
    for key, value in changes.items():
        _put(tree, key.split("."), value)
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree, indent=1), encoding="utf-8")
    return path


def image_sources(folder: Path, **changes: Any) -> Any:
    """The recipe of `image_recipe` with absolute paths, and its opened data."""
    image_recipe(folder, **changes)
    return sources_of(folder)


def sources_of(folder: Path) -> Any:
    """The recipe and the data of a folder that `image_recipe` wrote, as they are now."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(folder / "recipe.yaml"))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def reader_arm(opened: Any, changes: dict[str, Any]) -> Any:
    """The parts of the small recognizer with other settings of the model, its model ready to read, and a batch."""
    from trimtab.build import build

    recipe, datasets = opened
    parts = build(recipe.model_copy(update={"model": recipe.model.model_copy(update=changes)}), datasets)
    return parts, parts.model.eval(), parts.examples.few()


def _recipe() -> dict[str, Any]:
    return {
        "task": "recognition",
        "data": {
            "train": [{"images": "train"}],
            "valid": {"images": "dev/labels.tsv"},
            "images": {"size": 16, "max_width": 128, "augment": None},
            "max_tokens": 16,
            "workers": 0,
        },
        "model": {
            "kind": "vision",
            "dim": 16,
            "heads": 2,
            "layers": 1,
            "feed_forward": 32,
            "decoder_layers": 1,
            "patch": [16, 4],
            "dropout": 0.0,
        },
        "step": {
            "tokens_per_step": 64,
            "optimizer": {"kind": "adamw", "learning_rate": 0.003},
            "schedule": {"kind": "constant", "warmup": "2 steps"},
        },
        "length": "6 steps",
        "evaluate": {"every": "3 steps", "samples": 2},
        "checkpoint": {"every": "3 steps"},
    }
