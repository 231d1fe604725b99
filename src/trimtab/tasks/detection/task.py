"""Detection: a model of the DETR family predicts a set of boxes, each of which is matched with one object."""

from typing import Any

from trimtab.tasks.detection.building import (
    build_detection_loss,
    build_detector,
    open_mixtures,
    plan_batches,
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


DETECTION = Task(
    name="detection",
    open_datasets=open_datasets,
    plan_batches=plan_batches,
    open_mixture=open_mixtures,
    build_model=build_detector,
    build_loss=build_detection_loss,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_detector,
    take_weights=take_weights,
    examples=BoxExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone)),
    export=export_detector,
    check_prepared=load_categories,
)
