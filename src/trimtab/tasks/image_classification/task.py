"""Image classification: a vision transformer gives each image one of the classes of its training data."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.config.run import Recipe
from trimtab.errors import InputError, Problem, input_error
from trimtab.loss.build import Loss, build_loss
from trimtab.progress import Progress
from trimtab.tasks.image_classification.classifier import classifier_of, load_image_classifier
from trimtab.tasks.image_classification.model import ImageClassifier
from trimtab.tasks.image_classification.validation import example_losses, loss_of, validated
from trimtab.tasks.images.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.images.labelled import labels_in
from trimtab.tasks.images.pixels import MOST_NAMED
from trimtab.tasks.images.square_batches import SquareBatch, open_mixtures, plan_batches
from trimtab.tasks.images.square_examples import SquareExamples
from trimtab.tasks.images.squares import Squares, images_of, open_squares
from trimtab.tasks.labels import load_labels
from trimtab.tasks.task import OwnChecks, Task, Untrained, Validation
from trimtab.tasks.teacher import Teacher, open_teacher
from trimtab.types import LossOutput


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Squares:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of images")
    opened = open_squares(recipe, tokenizer_folder=tokenizer_folder)
    assert isinstance(recipe.model, ImageClassifierModel), "other kinds are refused with the recipe"
    check_labelled([*recipe.data.train_by_key], opened.corpora)
    if len(opened.labels) < 2:
        raise input_error(
            "data.train: a classifier needs at least two classes",
            got=opened.labels.shown() or "images without classes",
            allowed="a folder with a subfolder for each class, or a list of images with their labels",
            fix="put the images of each class in a folder of its own",
        )
    patches = (images_of(recipe).size // recipe.model.patch) ** 2
    return Squares(**opened._asdict(), patches=patches)


def check_labelled(keys: Sequence[str], corpora: Sequence[Any]) -> None:
    """InputError for images that have no class."""
    problems = [
        Problem(
            what=f"{key}: {corpus.place(line)}: an image without a class",
            got="an empty label",
            allowed="a label for each image",
            fix="write its label, or take it out of the list",
        )
        for key, corpus in zip(keys, corpora, strict=True)
        for line, label in enumerate(labels_in(corpus))
        if not label
    ]
    if problems:
        raise InputError(*problems[:MOST_NAMED])


def build_image_classifier(recipe: Recipe, datasets: Squares, *, device: torch.device) -> ImageClassifier:
    """The model with its first weights."""
    return classifier_of(recipe, num_classes=len(datasets.labels)).to(device)


class ClassLoss:
    """Cross-entropy of the class of each image, as the recipe asks for it; see `tasks.task.ComputesLoss`."""

    def __init__(self, loss: Loss, teacher: Teacher | None = None) -> None:
        self.loss, self.teacher = loss, teacher

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.loss.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.loss.truncating = value

    def __call__(self, model: ImageClassifier, batch: SquareBatch) -> LossOutput:
        """Summed over the images of a batch that count."""
        hidden = model(batch)
        found = self.loss(hidden, model.output_matrix, batch.targets)
        if self.teacher is None:
            return found
        return self.teacher.add_distance(found, hidden, batch, labels=batch.targets, training=model.training)


def build_class_loss(recipe: Recipe, datasets: Squares, *, device: torch.device) -> ClassLoss:
    """The loss of a recipe on the device."""
    loss = build_loss(recipe.loss, num_ids=len(datasets.labels), device=device)
    if recipe.loss.feature_matching is None:
        return ClassLoss(loss)
    trained = load_image_classifier(recipe.loss.feature_matching.teacher, device=str(device))
    same = trained.labels == datasets.labels and images_of(trained.recipe) == images_of(recipe)
    teacher = open_teacher(recipe, trained, same_input=same, what="size of images and classes", device=device)
    return ClassLoss(loss, teacher)


def untrained(datasets: Squares) -> Untrained:
    """The loss per image of an untrained model: the logarithm of the number of classes."""
    return Untrained(math.log(len(datasets.labels)), "ln(classes)")


IMAGE_CLASSIFICATION = Task(
    name="image_classification",
    open_datasets=open_datasets,
    plan_batches=plan_batches,
    open_mixture=open_mixtures,
    build_model=build_image_classifier,
    build_loss=build_class_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_image_classifier,
    examples=SquareExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone)),
    check_prepared=load_labels,
)
