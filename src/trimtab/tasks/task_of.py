"""The task of a recipe: the one place where it is looked at."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, assert_never

from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.classification.task import CLASSIFICATION
from trimtab.tasks.language_model.task import LANGUAGE_MODEL
from trimtab.tasks.task import Task
from trimtab.tasks.translation.modular_task import MODULAR
from trimtab.tasks.translation.task import TRANSLATION


def task_of(recipe: Recipe) -> Task:
    """What the recipe's task brings to a run."""
    match recipe.task:
        case "translation":
            return MODULAR if recipe.model.kind == "modular" else TRANSLATION
        case "language_model":
            return LANGUAGE_MODEL
        case "classification":
            return CLASSIFICATION
        case "image_classification":
            _check_pillow(recipe)
            from trimtab.tasks.image_classification.task import IMAGE_CLASSIFICATION

            return IMAGE_CLASSIFICATION
        case "recognition":
            _check_pillow(recipe)
            from trimtab.tasks.recognition.task import RECOGNITION

            return RECOGNITION
        case "detection":
            _check_pillow(recipe)
            from trimtab.tasks.detection.task import DETECTION

            return DETECTION
        case "diffusion":
            _check_pillow(recipe)
            return _image_maker(recipe)
        case _:
            assert_never(recipe.task)


def _image_maker(recipe: Recipe) -> Task:
    """The two models of diffusion have a loss, a validation and an export each, over the same images."""
    match recipe.model.kind:
        case "autoencoder":
            from trimtab.tasks.diffusion.autoencoder_task import AUTOENCODER

            return AUTOENCODER
        case _:
            from trimtab.tasks.diffusion.task import DIFFUSION

            return DIFFUSION


def _check_pillow(recipe: Recipe) -> None:
    """InputError where the package that opens images is missing, which tasks on text do without."""
    if find_spec("PIL") is None:
        raise input_error(
            f"task: {recipe.task} needs the package Pillow",
            got="an environment without it",
            allowed="an environment with the extra `vision`",
            fix='pip install "trimtab[vision]"',
        )


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Any:
    """The data that a recipe with absolute paths names, opened as its task reads it; see `Task.open_datasets`."""
    return task_of(recipe).open_datasets(recipe, tokenizer_folder=tokenizer_folder, progress=progress)
