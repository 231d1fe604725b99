"""Diffusion: a transformer learns to take noise out of images, and so makes images out of noise."""

from pathlib import Path

from trimtab.tasks.diffusion.building import (
    build_diffuser,
    build_noise_loss,
    plan_batches,
    untrained,
)
from trimtab.tasks.diffusion.checks import images_are_apart
from trimtab.tasks.diffusion.datasets import open_datasets
from trimtab.tasks.diffusion.generator import load_image_generator
from trimtab.tasks.diffusion.latents import FOLDER, read_latents
from trimtab.tasks.diffusion.validation import example_losses, loss_of, validated
from trimtab.tasks.images.checks import data_checks, image_is_the_same_alone
from trimtab.tasks.images.square_batches import open_mixtures
from trimtab.tasks.images.square_examples import SquareExamples
from trimtab.tasks.labels import load_labels
from trimtab.tasks.task import OwnChecks, Task, Validation


def check_prepared(folder: Path) -> None:
    """InputError where the classes of a run, or its autoencoder, are missing or damaged."""
    load_labels(folder)
    if (folder / FOLDER).exists():
        read_latents(folder / FOLDER)


DIFFUSION = Task(
    name="diffusion",
    open_datasets=open_datasets,
    plan_batches=plan_batches,
    open_mixture=open_mixtures,
    build_model=build_diffuser,
    build_loss=build_noise_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_image_generator,
    examples=SquareExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone)),
    check_prepared=check_prepared,
)
