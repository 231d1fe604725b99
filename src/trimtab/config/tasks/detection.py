"""Detection: what corpora, canvas, model, loss and exports it takes; and boxes in the recipe of another task."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.detector_model import DetectorModel
from trimtab.config.task_record import OtherLoss, TaskFacts

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

EXAMPLE = "{boxes: annotations.json}, or {boxes: data.yaml}"


LEAST_NATIVE = 0.7
"""Share of the pixels of a square that a canvas of its own shape has at least, rounded to multiples."""


def detection_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, a tokenizer or transforms that are for another task, and steps that detectors do not have."""
    for path, files in recipe.data.files_by_key.items():
        yield from _of_corpus(path, files)
    for check in (_boxes_alone, _loss, _step, _model, _export):
        yield from check(recipe)


def box_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Boxes in the recipe of another task."""
    for path, files in recipe.data.files_by_key.items():
        if getattr(files, "boxes", None) is not None:
            yield _of_boxes(f"{path}.boxes", recipe)
    if recipe.data.canvas is not None:
        yield _of_boxes("data.canvas", recipe)
    if recipe.loss.boxes is not None:
        yield _of_boxes("loss.boxes", recipe)


def _of_boxes(path: str, recipe: "Recipe") -> Complaint:
    return Complaint(
        path=path,
        what="only a detector predicts boxes",
        got=f"{path.rpartition('.')[2]}, with task {recipe.task}",
        fix="remove it, or set `task: detection`",
    )


def _of_corpus(path: str, files: TrainCorpus | ValidFiles) -> Iterator[Complaint]:
    if files.boxes is None:
        yield Complaint(
            path=path,
            what="no boxes",
            got=f"`{files.kind.key}`, with task detection",
            allowed=EXAMPLE,
            fix="name a list of boxes in COCO's or YOLO's form",
        )
    if files.tags:
        yield Complaint(
            path=f"{path}.tags", what="images have no tags", got=" and ".join(files.tags), fix="remove them"
        )


def _boxes_alone(recipe: "Recipe") -> Iterator[Complaint]:
    data = recipe.data
    for key, value in (("data.canvas", data.canvas), ("loss.boxes", recipe.loss.boxes)):
        if value is None:
            yield Complaint(
                path=key,
                what="detection cannot do without it",
                got="null",
                fix="leave it out to take the defaults, or set its keys",
            )
    for key in ("tokenizer", "source_tokenizer", "images", "charset"):
        if key in data.model_fields_set and getattr(data, key) is not None:
            yield Complaint(
                path=f"data.{key}",
                what="images with boxes have no text",
                got=f"{key}, with task detection",
                fix="remove it" + ("; `data.canvas` says how images are resized" if key == "images" else ""),
            )
    for place, transform in enumerate(data.transforms):
        yield Complaint(
            path=f"data.transforms.{place}",
            what="a transform of pairs of texts",
            got=f"{transform.kind}, with task detection",
            fix="remove it; images are changed by `data.canvas.augment`",
        )


def other_loss(recipe: "Recipe") -> OtherLoss:
    """See `TaskFacts.other_loss`."""
    return OtherLoss("a term of the cross-entropy, which a detector does not have")


def _loss(recipe: "Recipe") -> Iterator[Complaint]:
    loss, model = recipe.loss, recipe.model
    softmax = loss.boxes is not None and loss.boxes.classification == "softmax"
    if softmax and getattr(model, "architecture", "detr") != "detr":
        yield Complaint(
            path="loss.boxes.classification",
            what="only DETR has a category for no object",
            got="softmax",
            allowed="varifocal or focal",
            fix="remove it",
        )


def _step(recipe: "Recipe") -> Iterator[Complaint]:
    step = recipe.step
    wrong = (
        (
            "cuda_graph",
            step.cuda_graph != "off",
            "matching needs the host, so that steps cannot be recorded",
            "off",
        ),
        (
            "compile",
            step.compile == "on",
            "batches of detectors have no one shape to compile for",
            "auto or off",
        ),
        (
            "recompute",
            step.recompute != "none",
            "layers that transformers computes cannot be recomputed",
            "none",
        ),
        (
            "precision",
            step.precision == "bf16",
            "boxes must not be rounded to bfloat16",
            "bf16_mixed or fp32",
        ),
        ("gradients", step.gradients == "released", "heads are used in several places", "kept"),
    )
    for key, is_wrong, what, allowed in wrong:
        if is_wrong:
            yield Complaint(
                path=f"step.{key}", what=what, got=str(getattr(step, key)), allowed=allowed, fix="remove it"
            )


def _model(recipe: "Recipe") -> Iterator[Complaint]:
    model, canvas = recipe.model, recipe.data.canvas
    if (
        isinstance(model, DetectorModel)
        and canvas is not None
        and model.architecture != "detr"
        and (model.settings or not model.path)  # the sizes of a folder are filled in later
    ):
        # Queries are the best positions of the features at strides of 8, 16 and 32.
        positions = sum((canvas.size // stride) ** 2 for stride in (8, 16, 32))
        positions = int(positions * LEAST_NATIVE) if canvas.fit == "native" else positions
        if model.queries > positions:
            yield Complaint(
                path="model.queries",
                what="more queries than the canvas has positions for",
                got=f"{model.queries}, on canvases of {canvas.size} x {canvas.size} pixels",
                allowed=f"at most {positions}",
                fix=f"set `model.queries: {positions}`, or raise `data.canvas.size`",
            )
    if recipe.adapter is not None:
        yield Complaint(
            path="adapter",
            what="there are no adapters for detectors",
            got=recipe.adapter.kind,
            fix='remove it; `freeze: ["network.model.backbone.*"]` trains less of the model',
        )


def _export(recipe: "Recipe") -> Iterator[Complaint]:
    if recipe.export:
        yield Complaint(
            path="export",
            what="detectors are not exported at the end of a run",
            got=", ".join(recipe.export),
            fix="remove it, and run `trimtab export RUN --to onnx` after the run",
        )


FACTS = TaskFacts(
    examples="images",
    reads_images=True,
    finds_boxes=True,
    model_kinds=("detector",),
    other_kinds="detection looks for boxes in images",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("boxes",),
    one_target=True,
    targets="boxes",
    in_a_step="images",
    each_target="a box",
    loss_unit="per box",
    tokens="images",
    batches=("batch", "batches"),
    mismatch="the boxes lie on the objects, not mirrored, shifted or in another unit",
    writes_text=False,
    command="trimtab detect",
    defaults=(
        ("data.canvas", {}),
        ("loss.label_smoothing", 0.0),
        ("loss.boxes", {}),
        ("step.tokens_per_step", 16),
        ("step.cuda_graph", "off"),
        ("step.clip", {"kind": "global_norm", "at": 0.1}),
        ("evaluate.metrics", ["ap", "ap50", "ap75", "ap_nms", "predictions_per_object"]),
        ("evaluate.best.metric", "ap"),
    ),
    contradictions=detection_contradictions,
    other_loss=other_loss,
)
