"""Detection: a model of the DETR family predicts a set of boxes, each of which is matched with one object."""

from pathlib import Path
from typing import Any, NoReturn

from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.detection.building import (
    build_detection_loss,
    build_detector,
    mixture_opener,
    plan_batches,
    unchanged,
    untrained,
)
from trimtab.tasks.detection.categories import load_categories
from trimtab.tasks.detection.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.detection.datasets import open_datasets
from trimtab.tasks.detection.detector import load_detector
from trimtab.tasks.detection.examples import BoxExamples
from trimtab.tasks.detection.export import export_detector
from trimtab.tasks.detection.starting import take_run
from trimtab.tasks.detection.validation import example_losses, loss_of, validated
from trimtab.tasks.task import OwnChecks, Task, Validation


def take_weights(old: Any, datasets: Any, model: Any, *, name: str) -> str:
    """See `Task.take_weights`; as far as `model.warm_start_part` says."""
    same = old.categories.names == datasets.categories.names
    part = model.detector.warm_start_part
    return take_run(old, model, part=part, name=name, same_categories=same)


def check_prepared(folder: Path) -> None:
    """InputError where the categories of a run are missing or damaged."""
    load_categories(folder)


def inspect(recipe: Recipe, *, limit: int, progress: Progress) -> NoReturn:
    """Refused: the report is one on pairs of texts."""
    raise input_error(
        "data.train: its examples are images, and trimtab inspects pairs of texts",
        got="task: detection",
        allowed="a recipe of another task",
        fix="check the data with `trimtab train RECIPE --smoke`, which names boxes that cannot be used",
    )


DETECTION = Task(
    name="detection",
    open_datasets=open_datasets,
    resolve_sizes=unchanged,
    plan_batches=plan_batches,
    open_mixture=mixture_opener,
    build_model=build_detector,
    build_loss=build_detection_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_detector,
    take_weights=take_weights,
    examples=BoxExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone), use=()),
    export=export_detector,
    check_prepared=check_prepared,
    inspect=inspect,
)
