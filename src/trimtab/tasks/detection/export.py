"""`trimtab export --to onnx` of a detector: a graph from the pixels of a canvas to scores and boxes, proven on real
images."""

import json
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trimtab.errors import InputError, RunFailed, input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.onnx.engine import require_onnx
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import GivenText
from trimtab.tasks.detection.categories import CATEGORIES_FILE
from trimtab.tasks.detection.datasets import reader_of
from trimtab.tasks.detection.detector import TrainedDetector, load_detector
from trimtab.tasks.detection.letterbox import FILL, Letterbox
from trimtab.tasks.detection.model import Detector
from trimtab.tasks.detection.sources import corpus_of, read_annotations
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.task import ExportedFolder

GRAPH, SETTINGS = "model.onnx", "detector.json"
OPSET = 17
"""GridSample, which deformable attention is made of, is there from 16 on."""
LEAST_SCORE = 0.01
IMAGES, BOUND = 8, 1e-4
"""Images of the proof, and by how much a score, or a side as a share of the canvas, may differ."""


class Graph(nn.Module):
    """What is exported: pixels as bytes in, scores of each category and corners as shares of the canvas out."""

    def __init__(self, model: Detector, *, softmax: bool) -> None:
        super().__init__()
        self.model, self.softmax = model, softmax

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """`images 3 height width`, uint8, gives `images queries categories` and `images queries 4`."""
        found = self.model.predicted(self.model.normalized(pixels), None)
        logits, boxes = found.logits[-1], found.boxes[-1]
        scores = logits.softmax(-1)[..., :-1] if self.softmax else logits.sigmoid()
        half = boxes[..., 2:] / 2
        return scores, torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], dim=-1)


@dataclass(frozen=True, slots=True)
class BoxGate:
    """What the proof saw."""

    images: int
    canvases: int
    """Different sizes of them."""
    worst_score: float
    worst_side: float
    """Largest difference of a side of a box with a score of at least 0.01, as a share of the canvas."""

    @property
    def passed(self) -> bool:
        """Whether the graph may be used in the trainer's place."""
        return max(self.worst_score, self.worst_side) <= BOUND

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND, "passed": self.passed}

    def render(self) -> str:
        """Lines for people."""
        return (
            f"{self.images} images on {self.canvases} canvases: scores differ by at most {self.worst_score:.1e}, sides "
            f"of boxes by {self.worst_side:.1e} of the canvas (bound {BOUND:.0e})"
        )


def export_detector(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> ExportedFolder:
    """See `Task.export`: only `onnx`; scores and boxes must be within 1e-4 of the trainer's on images of the run's own
    sets."""
    if target.name != "onnx":
        raise input_error(
            f"export: {run} is a detector",
            got=f"--to {target.name}",
            allowed="--to onnx",
            fix="export it to ONNX, or find objects with `trimtab detect RUN`",
        )
    if given != GivenText() or quantized.kind != "float32":
        raise input_error(
            "export: a detector is written in float32 and compared on images of its own sets",
            got="text, tags or another kind of weights",
            allowed="neither",
            fix="leave --source, --reference, --tag and --quantization out",
        )
    require_onnx()
    detector = load_detector(run, device="cpu")
    if detector.settings.architecture == "detr":
        raise input_error(
            "export: DETR needs a mask of the image on its canvas, which the graph does not have",
            got="detr",
            allowed="d_fine, rt_detr_v2 or deimv2",
            fix="train one of them",
        )
    check_place(out, run=detector.checkpoint.run)
    rows = [*canvases_of(detector)]
    with draft_folder(out) as draft:
        write_graph(detector, rows[0], draft / GRAPH)
        write_settings(detector, draft)
        gate = compare(detector, rows, draft / GRAPH)
        if not gate.passed:
            raise RunFailed(
                f"the export differs from the trainer; nothing was written\n{gate.render()}\n"
                "After few steps, many scores are nearly equal, and rounding changes the selection: train longer"
            )
        (draft / "gate.json").write_text(json.dumps(gate.to_dict(), indent=2) + "\n", encoding="utf-8")
    return ExportedFolder(out, target.name, detector.checkpoint.step, gate)


def write_graph(detector: TrainedDetector, pixels: np.ndarray, path: Path) -> None:
    """The graph, for any number of images and any canvas in multiples of 32. torch's exporter by TorchScript: the newer
    one has no translation for an operator of these models."""
    graph = Graph(detector.model, softmax=detector.softmax).eval()
    axes = {0: "images"}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            (torch.from_numpy(pixels[None]),),
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=["pixels"],
            output_names=["scores", "boxes"],
            dynamic_axes={"pixels": {**axes, 2: "height", 3: "width"}, "scores": axes, "boxes": axes},
        )


def write_settings(detector: TrainedDetector, folder: Path) -> None:
    """What a program has to know besides the graph: how images come to their canvas, and what is done with boxes."""
    canvas, settings = detector.canvas, detector.settings
    told = {
        "input": "pixels: uint8, images x 3 x height x width, RGB; normalization is in the graph",
        "canvas": {"fit": canvas.fit, "size": canvas.size, "multiple": canvas.multiple, "fill": FILL},
        "resize": "bilinear with antialiasing, as Pillow's; the image is in the upper left corner of its canvas",
        "output": "scores of each category; boxes: left, top, right, bottom as shares of the canvas",
        "score_threshold": settings.score_threshold,
        "nms": {"kind": settings.nms, "iou": settings.nms_iou, "contained": settings.nms_contained},
        "categories": detector.categories.names,
    }
    (folder / SETTINGS).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = [
        {"name": name, "id": number}
        for name, number in zip(detector.categories.names, detector.categories.ids, strict=True)
    ]
    (folder / CATEGORIES_FILE).write_text(
        json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def canvases_of(detector: TrainedDetector) -> Iterator[np.ndarray]:
    """Images of the run's sets on their canvases, `3 height width`; where the files are gone, images of noise."""
    data, reader, count = detector.recipe.data, reader_of(detector.recipe), 0
    for files in (*data.valid.values(), *data.train):
        try:
            corpus = corpus_of(read_annotations(files, key="data"), files, detector.categories)  # type: ignore[arg-type]
        except InputError:
            continue
        for line in range(min(len(corpus), IMAGES - count)):
            try:
                image, _, _ = corpus.image(line, reader.canvas)
            except BadImage:
                continue
            count += 1
            yield Letterbox.of(*image.size, reader.canvas).place(image).transpose(2, 0, 1)
    draw = np.random.default_rng(1)
    for width, height in ((640, 480), (480, 640))[: 2 if not count else 0]:
        canvas_height, canvas_width = Letterbox.of(width, height, reader.canvas).canvas
        yield draw.integers(0, 256, (3, canvas_height, canvas_width), np.uint8)


@torch.inference_mode()
def compare(detector: TrainedDetector, rows: list[np.ndarray], path: Path) -> BoxGate:
    """The trainer against ONNX Runtime, each image alone, and those of one canvas together."""
    session = onnxruntime_session(path)
    graph = Graph(detector.model, softmax=detector.softmax).eval()
    by_canvas: dict[tuple[int, ...], list[np.ndarray]] = {}
    for row in rows:
        by_canvas.setdefault(row.shape, []).append(row)
    batches = [row[None] for row in rows] + [np.stack(same) for same in by_canvas.values() if len(same) > 1]
    worst = np.zeros(2)
    for pixels in batches:
        own = [each.numpy() for each in graph(torch.from_numpy(np.ascontiguousarray(pixels)))]
        other = session.run(None, {"pixels": np.ascontiguousarray(pixels)})
        for number in range(len(pixels)):
            one, two = (np.concatenate([each[number] for each in found], axis=1) for found in (own, other))
            worst = np.maximum(worst, np.maximum(farthest(one, two), farthest(two, one)))
    return BoxGate(len(rows), len(by_canvas), float(worst[0]), float(worst[1]))


def farthest(found: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The largest distances of scores and sides, `queries numbers` with four sides last, from the nearest query of
    `other`. The order of queries is ignored: rounding can swap proposals of equal score. Only queries with a score of
    at least 0.01 are compared, and the best ten in any case."""
    best = found[:, :-4].max(1)
    seen = found[best >= min(LEAST_SCORE, np.sort(best)[-10:].min())]
    apart = np.abs(seen[:, None] - other[None])
    both = np.stack([apart[..., :-4].max(-1), apart[..., -4:].max(-1)], axis=-1)
    nearest = both.max(-1).argmin(1)
    return both[np.arange(len(seen)), nearest].max(0)


def onnxruntime_session(path: Path) -> Any:
    """The graph in ONNX Runtime, on one thread of the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
