"""Sequence classification: an encoder reads a text, and its mean vector gives the label."""

from pathlib import Path

from trimtab.data.tokenizers import check_kept
from trimtab.tasks.classification.building import (
    build_classifier,
    build_label_loss,
    open_mixtures,
    plan_batches,
    untrained,
    with_vocabulary_size,
)
from trimtab.tasks.classification.checks import data_checks, text_is_the_same_alone, texts_are_apart
from trimtab.tasks.classification.classifier import load_classifier
from trimtab.tasks.classification.datasets import open_datasets
from trimtab.tasks.classification.examples import LabelledExamples
from trimtab.tasks.classification.export import export_classifier
from trimtab.tasks.classification.validation import example_losses, loss_of, validated
from trimtab.tasks.labels import load_labels
from trimtab.tasks.task import OwnChecks, Task, Validation


def check_prepared(folder: Path) -> None:
    """InputError where a run's tokenizer or its labels are missing or damaged."""
    check_kept(folder)
    load_labels(folder)


CLASSIFICATION = Task(
    name="classification",
    open_datasets=open_datasets,
    resolve_sizes=with_vocabulary_size,
    plan_batches=plan_batches,
    open_mixture=open_mixtures,
    build_model=build_classifier,
    build_loss=build_label_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_classifier,
    examples=LabelledExamples,
    checks=OwnChecks(data=data_checks, batches=(texts_are_apart, text_is_the_same_alone)),
    export=export_classifier,
    check_prepared=check_prepared,
)
