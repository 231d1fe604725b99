"""Recognition: what corpora, images, model, loss and exports it takes; and images in the recipe of another task."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.task_record import OtherLoss, TaskFacts
from trimtab.config.vision_model import VisionModel

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

PRETRAINED = "trocr"
"""The kind of a pretrained recognizer."""
EXAMPLE = "{images: lines.tsv}, or {text: lines.txt, render: {fonts: [FOLDER]}}"


def recognition_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, a tokenizer or transforms that are for another task, and patches that do not fit the images."""
    for path, files in recipe.data.files_by_key.items():
        yield from _of_corpus(path, files)
    for check in (_texts_alone, _patches, _of_pretrained, _step, _export):
        yield from check(recipe)


def image_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Images in the recipe of a task on text."""
    for path, files in recipe.data.files_by_key.items():
        for key in ("images", "render"):
            if getattr(files, key, None) is not None:
                yield _of_images(f"{path}.{key}", recipe)
    for key in ("images", "charset"):
        if getattr(recipe.data, key) is not None:
            yield _of_images(f"data.{key}", recipe)


def _of_images(path: str, recipe: "Recipe") -> Complaint:
    return Complaint(
        path=path,
        what="a task on text reads no images",
        got=f"{path.rpartition('.')[2]}, with task {recipe.task}",
        fix="remove it, or set `task: recognition`"
        + (" or `task: diffusion`" if path.endswith("images") else ""),
    )


def _of_corpus(path: str, files: TrainCorpus | ValidFiles) -> Iterator[Complaint]:
    if files.images is None and files.text is None:
        yield Complaint(
            path=path,
            what="no images",
            got=f"`{files.kind.key}`, with task recognition",
            allowed=EXAMPLE,
            fix="name a list of images, or a text whose lines are rendered",
        )
    if files.images is None and files.text is not None and files.render is None:
        yield Complaint(
            path=f"{path}.text",
            what="a text alone shows no images",
            got=f"text: {files.text}",
            allowed=EXAMPLE,
            fix="add `render` with the fonts that its lines are drawn with",
        )
    if files.images is not None and files.render is not None:
        yield Complaint(
            path=f"{path}.render",
            what="images are read and not rendered",
            got="render beside images",
            allowed=EXAMPLE,
            fix="remove it, or name a `text` in place of `images`",
        )
    if files.tags:
        yield Complaint(
            path=f"{path}.tags", what="images have no tags", got=" and ".join(files.tags), fix="remove them"
        )


def _texts_alone(recipe: "Recipe") -> Iterator[Complaint]:
    data = recipe.data
    for key in ("images", "charset"):
        if getattr(data, key) is None:
            yield Complaint(
                path=f"data.{key}",
                what="recognition cannot do without it",
                got="null",
                fix="leave it out to take the defaults, or set its keys",
            )
    for key in ("tokenizer", "source_tokenizer"):
        own = recipe.model.kind == PRETRAINED and key == "tokenizer"
        if not own and key in data.model_fields_set and getattr(data, key) is not None:
            yield Complaint(
                path=f"data.{key}",
                what="texts are read character by character",
                got=f"a {key.replace('_', ' ')}, with task recognition",
                fix="remove it; `data.charset` says which characters there are",
            )
    for place, transform in enumerate(data.transforms):
        yield Complaint(
            path=f"data.transforms.{place}",
            what="a transform of pairs of texts",
            got=f"{transform.kind}, with task recognition",
            fix="remove it; images are changed by `data.images.augment`, texts by `data.charset.normalization`",
        )


def _patches(recipe: "Recipe") -> Iterator[Complaint]:
    model, images = recipe.model, recipe.data.images
    if not isinstance(model, VisionModel) or images is None:
        return
    if images.fit == "crop":
        yield Complaint(
            path="data.images.fit",
            what="a square in the middle of a line loses its text",
            got="crop, with task recognition",
            allowed="height or longest",
            fix="set `data.images.fit: height`, or leave it out",
        )
    height = model.patch[0]
    if images.fit == "height" and images.size % height:
        yield Complaint(
            path="model.patch",
            what="the height of the images is not a multiple of the patch height",
            got=f"patches {height} pixels high, with data.images.size {images.size}",
            allowed=", ".join(str(side) for side in (2, 4, 8, 16, 32, 64) if images.size % side == 0),
            fix=f"set `model.patch: [{images.size & -images.size}, {model.patch[1]}]`, or `data.images.size` to "
            f"{-(-images.size // height) * height}",
        )


def _of_pretrained(recipe: "Recipe") -> Iterator[Complaint]:
    """What a pretrained recognizer has decided already: how images are resized, and what texts are written in."""
    data, model = recipe.data, recipe.model
    images, charset = data.images, data.charset
    if images is None or charset is None:
        return
    if model.kind != PRETRAINED:
        if images.fit == "stretch":
            yield Complaint(
                path="data.images.fit",
                what="resizes lines to squares, which pretrained recognizers alone are trained on",
                got=f"stretch, with `model.kind: {model.kind}`",
                allowed="height or longest",
                fix="set `data.images.fit: height`, or leave it out",
            )
        return
    defaults = type(images)()
    fixed = {
        "fit": "stretch",
        "channels": "rgb",
        "max_width": defaults.max_width,
        "too_wide": defaults.too_wide,
    }
    for key, value in fixed.items():
        if getattr(images, key) != value:
            yield Complaint(
                path=f"data.images.{key}",
                what="a pretrained recognizer reads images as it was trained: resized to its own size, in color",
                got=str(getattr(images, key)),
                allowed=str(value),
                fix="leave it out",
            )
    if images.size != model.image_size:
        yield Complaint(
            path="data.images.size",
            what="a pretrained recognizer has learned positions for images of one size",
            got=str(images.size),
            allowed=str(model.image_size),
            fix="leave it out",
        )
    if charset.file is not None:
        yield Complaint(
            path="data.charset.file",
            what="a pretrained recognizer writes the pieces of its own tokenizer",
            got=charset.file,
            allowed="null",
            fix="leave it out",
        )
    if data.tokenizer.kind != "pretrained":
        yield Complaint(
            path="data.tokenizer",
            what="a pretrained recognizer writes the pieces of its own tokenizer",
            got=data.tokenizer.kind,
            allowed="kind: pretrained, which is the default",
            fix="leave it out",
        )


def other_loss(recipe: "Recipe") -> OtherLoss | None:
    """See `TaskFacts.other_loss`: a head that is CTC alone."""
    if not isinstance(recipe.model, VisionModel) or recipe.model.head != "ctc":
        return None
    return OtherLoss(
        "a term of the cross-entropy, which CTC does not have", "remove it, or set `model.head: both`"
    )


def _step(recipe: "Recipe") -> Iterator[Complaint]:
    if recipe.step.cuda_graph != "off":  # `auto` would record them
        yield Complaint(
            path="step.cuda_graph",
            what="steps over images have no fixed shape, so that they cannot be recorded",
            got=f"{recipe.step.cuda_graph}, with task recognition",
            allowed="off, the default",
            fix="remove it",
        )


def _export(recipe: "Recipe") -> Iterator[Complaint]:
    if recipe.export:
        yield Complaint(
            path="export",
            what="recognizers are not exported at the end of a run",
            got=", ".join(recipe.export),
            fix="remove it, and run `trimtab export RUN --to onnx` after the run",
        )


FACTS = TaskFacts(
    examples="images",
    reads_images=True,
    model_kinds=("vision", PRETRAINED),
    other_kinds="recognition reads images",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("readings",),
    targets="characters",
    each_target="a character",
    loss_unit="nats per character",
    tokens="characters",
    batches=("batch", "batches"),
    mismatch="each image shows its text, not mirrored or rotated, and large enough to be read",
    writes_text=False,
    command="trimtab recognise",
    pretrained="TrOCR",
    defaults=(
        ("data.images", {}),
        ("data.charset", {}),
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 4096),
        ("step.cuda_graph", "off"),
        ("evaluate.metrics", ["cer", "wer", "exact", "loops"]),
        ("evaluate.best.metric", "cer"),
    ),
    contradictions=recognition_contradictions,
    other_loss=other_loss,
)
