"""Diffusion: a transformer learns to take noise out of images, and so makes images out of noise."""

from pathlib import Path
from typing import Any, NoReturn

from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.classification.labels import load_labels
from trimtab.tasks.diffusion.building import (
    build_diffuser,
    build_noise_loss,
    mixture_opener,
    plan_batches,
    unchanged,
    untrained,
)
from trimtab.tasks.diffusion.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.diffusion.datasets import open_datasets
from trimtab.tasks.diffusion.examples import PictureExamples
from trimtab.tasks.diffusion.generator import load_image_generator
from trimtab.tasks.diffusion.validation import example_losses, loss_of, validated
from trimtab.tasks.task import OwnChecks, Task, Validation


def take_weights(old: Any, datasets: Any, model: Any, *, name: str) -> NoReturn:
    """A diffusion model begins from nothing: its kind of model has no `warm_start`."""
    raise input_error(f"model.warm_start: a diffusion model cannot start from {name}")


def check_prepared(folder: Path) -> None:
    """InputError where the classes of a run are missing or damaged."""
    load_labels(folder)


def inspect(recipe: Recipe, *, limit: int, progress: Progress) -> NoReturn:
    """Refused: the report is one on pairs of texts."""
    raise input_error(
        "data.train: its examples are images, and trimtab inspects pairs of texts",
        got="task: diffusion",
        allowed="a recipe of another task",
        fix="check the data with `trimtab train RECIPE --smoke`; data_ledger.json counts what is dropped",
    )


def export(run: Any, target: Any, out: Path, *, given: Any, quantized: Any) -> NoReturn:
    """Refused: no target supports it."""
    raise input_error(
        f"{run}: no export target supports diffusion yet",
        got="task: diffusion",
        allowed="a run of another task",
        fix="make images with `trimtab sample RUN --out DIR`, or with `trimtab.load_image_generator`",
    )


DIFFUSION = Task(
    name="diffusion",
    open_datasets=open_datasets,
    resolve_sizes=unchanged,
    plan_batches=plan_batches,
    open_mixture=mixture_opener,
    build_model=build_diffuser,
    build_loss=build_noise_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_image_generator,
    take_weights=take_weights,
    examples=PictureExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone), use=()),
    export=export,
    check_prepared=check_prepared,
    inspect=inspect,
)
