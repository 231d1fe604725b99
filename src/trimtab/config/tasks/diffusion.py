"""Diffusion: what corpora, images, model and loss it takes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.diffusion_model import DiffusionModel
from trimtab.config.task_record import OtherLoss, TaskFacts
from trimtab.config.tasks.squares import square_contradictions

if TYPE_CHECKING:
    from trimtab.config.run import Recipe


def diffusion_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, a tokenizer, transforms or terms of the loss that are for another task, and sizes that do not fit."""
    for check in (square_contradictions, _images, _guidance, _export):
        yield from check(recipe)


def _images(recipe: "Recipe") -> Iterator[Complaint]:
    model, images = recipe.model, recipe.data.images
    if images is None:
        return
    if images.augment is not None:
        yield Complaint(
            path="data.images.augment",
            what="changes that keep a text readable, which the model would learn to draw",
            got="augment, with task diffusion",
            allowed="null",
            fix="set `data.images.augment: null`, or leave it out",
        )
    if isinstance(model, DiffusionModel) and model.autoencoder is None and images.size % model.patch:
        fitting = [str(side) for side in range(1, 65) if images.size % side == 0]
        yield Complaint(
            path="model.patch",
            what="patches do not divide the images",
            got=f"{model.patch}, with data.images.size {images.size}",
            allowed=", ".join(fitting),
            fix=f"set `model.patch: {max(int(each) for each in fitting if int(each) <= model.patch)}`",
        )


def _guidance(recipe: "Recipe") -> Iterator[Complaint]:
    model = recipe.model
    if isinstance(model, DiffusionModel) and model.class_dropout == 0 and model.sampling.guidance != 1:
        yield Complaint(
            path="model.sampling.guidance",
            what="guidance needs a model that also knows images without their class",
            got=f"{model.sampling.guidance:g}, with class_dropout 0",
            allowed="1, or any scale with `model.class_dropout` above 0",
            fix="set `model.class_dropout: 0.1`, or `model.sampling.guidance: 1`",
        )


def other_loss(recipe: "Recipe") -> OtherLoss:
    """See `TaskFacts.other_loss`."""
    return OtherLoss(
        "a term of the cross-entropy; the loss of diffusion is a squared error",
        "remove it; `model.prediction` and `model.weighting` say what the error is of and how it counts",
    )


def _export(recipe: "Recipe") -> Iterator[Complaint]:
    if not recipe.export:
        return
    match recipe.model.kind:
        case "autoencoder":
            what, fix = (
                "autoencoders are not exported at the end of a run",
                "remove it, and run `trimtab export RUN --to hf` after the run",
            )
        case _:
            what, fix = "no export target supports diffusion transformers yet", "remove it"
    yield Complaint(path="export", what=what, got=", ".join(recipe.export), fix=fix)


FACTS = TaskFacts(
    examples="images",
    reads_images=True,
    model_kinds=("diffusion_transformer", "autoencoder"),
    other_kinds="diffusion makes images, or encodes them",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=(),
    one_target=True,
    targets="images",
    each_target="an image",
    loss_unit="mean squared error",
    tokens="images",
    batches=("batch", "batches"),
    mismatch="the images are what they should be",
    writes_text=False,
    command="trimtab sample",
    defaults=(
        ("data.images.fit", "crop"),
        ("data.images.channels", "rgb"),
        ("data.images.augment", None),
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 256),
        ("step.cuda_graph", "off"),
        ("step.ema", {}),
        ("evaluate.weights", "ema"),
        ("evaluate.metrics", []),
        ("evaluate.best.metric", "loss"),
    ),
    contradictions=diffusion_contradictions,
    other_loss=other_loss,
)
