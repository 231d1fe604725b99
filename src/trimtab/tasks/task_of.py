"""The task of a recipe: the one place where it is looked at."""

from pathlib import Path
from typing import Any, assert_never

from trimtab.config.run import Recipe
from trimtab.progress import Progress
from trimtab.tasks.classification.task import CLASSIFICATION
from trimtab.tasks.detection.task import DETECTION
from trimtab.tasks.diffusion.task import DIFFUSION
from trimtab.tasks.language_model.task import LANGUAGE_MODEL
from trimtab.tasks.recognition.task import RECOGNITION
from trimtab.tasks.task import Task
from trimtab.tasks.translation.task import TRANSLATION


def task_of(recipe: Recipe) -> Task:
    """What the recipe's task brings to a run."""
    match recipe.task:
        case "translation":
            return TRANSLATION
        case "language_model":
            return LANGUAGE_MODEL
        case "classification":
            return CLASSIFICATION
        case "recognition":
            return RECOGNITION
        case "detection":
            return DETECTION
        case "diffusion":
            return DIFFUSION
        case _:
            assert_never(recipe.task)


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Any:
    """The data that a recipe with absolute paths names, opened as its task reads it; see `Task.open_datasets`."""
    return task_of(recipe).open_datasets(recipe, tokenizer_folder=tokenizer_folder, progress=progress)
