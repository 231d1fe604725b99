"""Image classification: what corpora, images and loss it takes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.config.task_record import TaskFacts
from trimtab.config.tasks.squares import square_contradictions

if TYPE_CHECKING:
    from trimtab.config.run import Recipe


def image_classification_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, texts or terms of the loss that are for another task, and sizes that do not fit."""
    yield from square_contradictions(recipe)
    model, images = recipe.model, recipe.data.images
    if isinstance(model, ImageClassifierModel) and images is not None and images.size % model.patch:
        fitting = [side for side in (2, 4, 8, 16, 32) if images.size % side == 0]
        yield Complaint(
            path="model.patch",
            what="patches do not divide the images",
            got=f"{model.patch}, with data.images.size {images.size}",
            allowed=", ".join(map(str, fitting)),
            fix=f"set `model.patch: {max(fitting)}`",
        )
    if recipe.export:
        yield Complaint(
            path="export",
            what="no export target supports classifiers of images yet",
            got=", ".join(recipe.export),
            fix="remove it",
        )


FACTS = TaskFacts(
    model_kinds=("image_classifier",),
    other_kinds="images are classified by a vision transformer",
    one_row=False,
    scores_follow_from_the_loss=False,
    examples="images with labels",
    reads_images=True,
    metrics=("labels",),
    one_target=True,
    targets="images",
    each_target="an image",
    loss_unit="nats per image",
    tokens="images",
    batches=("batch", "batches"),
    mismatch="each image is in the folder of its class",
    writes_text=False,
    command="trimtab classify",
    defaults=(
        ("data.images.fit", "crop"),
        ("data.images.augment", None),
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 128),
        ("evaluate.metrics", ["accuracy", "macro_f1"]),
        ("evaluate.best.metric", "accuracy"),
    ),
    contradictions=image_classification_contradictions,
)
