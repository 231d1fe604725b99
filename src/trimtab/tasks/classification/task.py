"""Sequence classification: a text is read by an encoder, whose mean says which label it has."""

from typing import Any, NoReturn

from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.classification.building import (
    build_classifier,
    mixture_opener,
    plan_batches,
    with_vocabulary_size,
)
from trimtab.tasks.classification.checks import data_checks, text_is_the_same_alone, texts_are_apart
from trimtab.tasks.classification.datasets import open_datasets
from trimtab.tasks.classification.examples import LabelledExamples
from trimtab.tasks.classification.losses import build_label_loss, untrained
from trimtab.tasks.classification.validation import example_losses, loss_of, validated
from trimtab.tasks.task import OwnChecks, Task, Validation


def take_weights(old: Any, datasets: Any, model: Any, *, name: str) -> NoReturn:
    """A classifier begins from nothing: its kind of model has no `warm_start`."""
    raise input_error(f"model.warm_start: a classifier begins from nothing, and not from {name}")


def inspect(recipe: Recipe, *, limit: int, progress: Progress) -> NoReturn:
    """Refused: the report is one on pairs of texts."""
    raise input_error(
        "data.train: its examples are texts with labels, and what is inspected is pairs of texts",
        got="task: classification",
        allowed="a recipe of another task",
        fix="see that the data is read with `trimtab train RECIPE --smoke`; data_ledger.json counts what is dropped",
    )


CLASSIFICATION = Task(
    name="classification",
    open_datasets=open_datasets,
    resolve_sizes=with_vocabulary_size,
    plan_batches=plan_batches,
    open_mixture=mixture_opener,
    build_model=build_classifier,
    build_loss=build_label_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    take_weights=take_weights,
    examples=LabelledExamples,
    checks=OwnChecks(data=data_checks, batches=(texts_are_apart, text_is_the_same_alone), use=()),
    inspect=inspect,
)
