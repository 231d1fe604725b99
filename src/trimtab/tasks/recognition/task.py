"""Recognition of text lines: a vision transformer reads an image, and its heads write the text."""

from trimtab.tasks.recognition.building import (
    build_reader,
    build_reading_loss,
    open_mixtures,
    plan_batches,
    untrained,
)
from trimtab.tasks.recognition.charset import load_written
from trimtab.tasks.recognition.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.recognition.datasets import open_datasets
from trimtab.tasks.recognition.examples import ImageExamples
from trimtab.tasks.recognition.recognizer import load_recognizer
from trimtab.tasks.recognition.trocr_export import export_reader
from trimtab.tasks.recognition.validation import example_losses, loss_of, validated
from trimtab.tasks.task import OwnChecks, Task, Validation

RECOGNITION = Task(
    name="recognition",
    open_datasets=open_datasets,
    plan_batches=plan_batches,
    open_mixture=open_mixtures,
    build_model=build_reader,
    build_loss=build_reading_loss,
    untrained=untrained,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_recognizer,
    examples=ImageExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone)),
    export=export_reader,
    check_prepared=load_written,
)
