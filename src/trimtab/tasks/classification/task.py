"""Sequence classification: an encoder reads a text, and its mean vector gives the label."""

from pathlib import Path
from typing import Any, NoReturn

from trimtab.config.run import Recipe
from trimtab.data.tokenizers import check_kept
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.classification.building import (
    build_classifier,
    build_label_loss,
    mixture_opener,
    plan_batches,
    untrained,
    with_vocabulary_size,
)
from trimtab.tasks.classification.checks import data_checks, text_is_the_same_alone, texts_are_apart
from trimtab.tasks.classification.classifier import load_classifier
from trimtab.tasks.classification.datasets import open_datasets
from trimtab.tasks.classification.examples import LabelledExamples
from trimtab.tasks.classification.export import export_classifier
from trimtab.tasks.classification.labels import load_labels
from trimtab.tasks.classification.validation import example_losses, loss_of, validated
from trimtab.tasks.task import OwnChecks, Task, Validation


def take_weights(old: Any, datasets: Any, model: Any, *, name: str) -> NoReturn:
    """A classifier begins from nothing: its kind of model has no `warm_start`."""
    raise input_error(f"model.warm_start: a classifier cannot start from {name}")


def check_prepared(folder: Path) -> None:
    """InputError where a run's tokenizer or its labels are missing or damaged."""
    check_kept(folder)
    load_labels(folder)


def inspect(recipe: Recipe, *, limit: int, progress: Progress) -> NoReturn:
    """Refused: the report is one on pairs of texts."""
    raise input_error(
        "data.train: its examples are texts with labels, and trimtab inspects pairs of texts",
        got="task: classification",
        allowed="a recipe of another task",
        fix="check the data with `trimtab train RECIPE --smoke`; data_ledger.json counts what is dropped",
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
    load_predictor=load_classifier,
    take_weights=take_weights,
    examples=LabelledExamples,
    checks=OwnChecks(data=data_checks, batches=(texts_are_apart, text_is_the_same_alone), use=()),
    export=export_classifier,
    check_prepared=check_prepared,
    inspect=inspect,
)
