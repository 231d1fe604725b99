"""Recognition of text lines: a vision transformer reads an image, and its heads write the text."""

from pathlib import Path
from typing import Any, NoReturn

from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.recognition.building import (
    build_reader,
    build_reading_loss,
    mixture_opener,
    plan_batches,
    unchanged,
    untrained,
)
from trimtab.tasks.recognition.charset import load_charset
from trimtab.tasks.recognition.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.recognition.datasets import open_datasets
from trimtab.tasks.recognition.examples import ImageExamples
from trimtab.tasks.recognition.recognizer import load_recognizer
from trimtab.tasks.recognition.validation import example_losses, loss_of, validated
from trimtab.tasks.task import OwnChecks, Task, Validation


def take_weights(old: Any, datasets: Any, model: Any, *, name: str) -> NoReturn:
    """A recognizer begins from nothing: its kind of model has no `warm_start`."""
    raise input_error(f"model.warm_start: a recognizer cannot start from {name}")


def check_prepared(folder: Path) -> None:
    """InputError where the characters of a run are missing or damaged."""
    load_charset(folder)


def inspect(recipe: Recipe, *, limit: int, progress: Progress) -> NoReturn:
    """Refused: the report is one on pairs of texts."""
    raise input_error(
        "data.train: its examples are images, and trimtab inspects pairs of texts",
        got="task: recognition",
        allowed="a recipe of another task",
        fix="check the data with `trimtab train RECIPE --smoke`; data_ledger.json counts what is dropped",
    )


def export(run: Any, target: Any, out: Path, *, given: Any, quantized: Any) -> NoReturn:
    """Refused: no target supports it."""
    raise input_error(
        f"{run}: no export target supports recognition yet",
        got="task: recognition",
        allowed="a run of another task",
        fix="read images with `trimtab recognise RUN IMAGE ...`, or with `trimtab.load_recognizer`",
    )


RECOGNITION = Task(
    name="recognition",
    open_datasets=open_datasets,
    resolve_sizes=unchanged,
    plan_batches=plan_batches,
    open_mixture=mixture_opener,
    build_model=build_reader,
    build_loss=build_reading_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_recognizer,
    take_weights=take_weights,
    examples=ImageExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone), use=()),
    export=export,
    check_prepared=check_prepared,
    inspect=inspect,
)
