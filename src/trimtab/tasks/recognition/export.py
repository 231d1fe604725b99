"""`trimtab export --to onnx` of a recognizer: graphs from the bytes of an image to its text, proven on real images."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image

from trimtab.data.order import random_stream
from trimtab.data.valid_set import spread
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.errors import InputError, RunFailed, input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.onnx.decoder import decoder_graph
from trimtab.export.onnx.engine import require_onnx
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import GivenText
from trimtab.tasks.images.feed import joined
from trimtab.tasks.images.pixels import BadImage, padded, to_row
from trimtab.tasks.images.sources import open_images
from trimtab.tasks.recognition.batches import ImageBatch, cut
from trimtab.tasks.recognition.charset import SPECIAL, Charset
from trimtab.tasks.recognition.model import ImageStream, LineReader
from trimtab.tasks.recognition.onnx_graph import image_graph
from trimtab.tasks.recognition.recognizer import Recognizer, load_recognizer
from trimtab.tasks.task import ExportedFolder
from trimtab.types import Ragged

WEIGHTS, ENCODER, DECODER = "model.onnx.data", "encoder.onnx", "decoder.onnx"
SETTINGS, READER = "recognizer.json", "read_lines.py"
OPSET = 18
"""The first set in which every operator of the resize takes the types that it needs."""
IMAGES, BOUND = 24, 1e-4
"""Images of the proof, and by how much a log-probability may differ."""
NOISE = ((50, 700), (23, 310), (100, 2000), (31, 64))
"""Height and width of the images of the proof where those of the run are gone."""


@dataclass(frozen=True, slots=True)
class LineGate:
    """What the proof saw."""

    images: int
    sizes: int
    """Different sizes of them, as files."""
    heads: tuple[str, ...]
    worst_log_probability: float
    """Largest difference of the log-probability of an id, over all columns and all characters."""
    read_otherwise: int
    """Texts that differ, where no two characters were equally likely."""

    @property
    def passed(self) -> bool:
        """Whether the graphs may be used in the trainer's place."""
        return self.worst_log_probability <= BOUND and not self.read_otherwise

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND, "passed": self.passed}

    def render(self) -> str:
        """Lines for people."""
        return (
            f"{self.images} images of {self.sizes} sizes by {' and '.join(self.heads)}: log-probabilities differ by at "
            f"most {self.worst_log_probability:.1e} (bound {BOUND:.0e}), and {self.read_otherwise} texts"
        )


def refuse_text_and_quantization(given: GivenText, quantized: Quantized) -> None:
    """Raises InputError for options of an export that no recognizer has."""
    if given != GivenText() or quantized.kind != "float32":
        raise input_error(
            "export: a recognizer is written in float32 and compared on images of its own sets",
            got="text, tags or another kind of weights",
            allowed="neither",
            fix="leave --source, --reference, --tag and --quantization out",
        )


def export_recognizer(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> ExportedFolder:
    """See `Task.export`, for all but pretrained recognizers: only `onnx`; log-probabilities must be within 1e-4 of the
    trainer's, and texts the same, on images of the run's own sets."""
    if target.name != "onnx":
        raise input_error(
            f"export: {run} is a recognizer",
            got=f"--to {target.name}",
            allowed="--to onnx",
            fix="export it to ONNX, or read images with `trimtab recognise RUN`",
        )
    refuse_text_and_quantization(given, quantized)
    require_onnx()
    recognizer = load_recognizer(run, device="cpu")
    check_place(out, run=recognizer.checkpoint.run)
    with draft_folder(out) as draft:
        write_graphs(recognizer, draft)
        gate = compare(recognizer, [*images_of(recognizer)], draft)
        if not gate.passed:
            raise RunFailed(f"the export differs from the trainer; nothing was written\n{gate.render()}")
        (draft / "gate.json").write_text(json.dumps(gate.to_dict(), indent=2) + "\n", encoding="utf-8")
    use = f"python {out / READER} IMAGE ... reads images with onnxruntime, numpy and Pillow alone"
    return ExportedFolder(out, target.name, recognizer.checkpoint.step, gate, use)


def write_graphs(recognizer: Recognizer, folder: Path) -> None:
    """Graphs, weights, settings, and the program that reads images with them."""
    model, charset = recognizer.model, recognizer.charset
    assert isinstance(model, LineReader), "pretrained ones are exported apart"
    assert isinstance(charset, Charset), "pretrained ones are exported apart"
    with Store(folder / WEIGHTS) as store:
        graphs = {ENCODER: image_graph(Nodes(store, opset=OPSET), model, recognizer.reader.images)}
        if model.config.has_decoder:
            graphs[DECODER] = decoder_graph(Nodes(store, opset=OPSET), model)
    for name, graph in graphs.items():
        (folder / name).write_bytes(graph.SerializeToString(deterministic=True))
    side = model.config.decoder
    settings = {
        "input": "image: uint8, height x width x channels, of any size; resizing and padding are in the graph",
        "channels": recognizer.reader.images.num_channels,
        "heads": heads_of(recognizer),
        "max_tokens": recognizer.recipe.data.max_tokens,
        "kv_heads": side.kv_heads,
        "head_size": side.dim // side.heads,
        "normalization": charset.normalization,
        "special": SPECIAL,
        **{name: getattr(charset, name) for name in ("pad", "unknown", "start", "end")},
        "characters": list(charset.characters),
    }
    text = json.dumps(settings, ensure_ascii=False, indent=1) + "\n"
    (folder / SETTINGS).write_text(text, encoding="utf-8")
    program = Path(__file__).with_name("onnx_reader.py").read_text(encoding="utf-8")
    (folder / READER).write_text(program, encoding="utf-8")


def heads_of(recognizer: Recognizer) -> list[str]:
    """The heads of the model, the one that reads by default first."""
    config = recognizer.model.config
    return [*(["attention"] if config.has_decoder else []), *(["ctc"] if config.has_ctc else [])]


def images_of(recognizer: Recognizer) -> Iterator[np.ndarray]:
    """Images of the run's sets as they are in their files, `height width channels`, spread over each set; where the
    files are gone, images of noise."""
    recipe, config, count = recognizer.recipe, recognizer.reader.images, 0
    for files in (*recipe.data.valid.values(), *recipe.data.train):
        try:
            corpus = open_images(files, key="data", seed=recipe.seed)
        except InputError:
            continue
        for line in spread(len(corpus), IMAGES - count):
            try:
                image, _ = corpus.image(line, config, random_stream(recipe.seed, line))
            except BadImage:
                continue
            count += 1
            pixels = np.asarray(image)
            yield pixels[..., None] if pixels.ndim == 2 else pixels
    draw = np.random.default_rng(1)
    for height, width in () if count else NOISE:
        yield draw.integers(0, 256, (height, width, config.num_channels), np.uint8)


def compare(recognizer: Recognizer, images: list[np.ndarray], folder: Path) -> LineGate:
    """The trainer against ONNX Runtime, image by image, as the program in the folder reads them."""
    from trimtab.tasks.recognition import onnx_reader  # late: it needs ONNX Runtime, which training does not

    worst, otherwise, heads = 0.0, 0, heads_of(recognizer)
    for head in heads:
        reader = onnx_reader.LineReader(folder, head=head)
        for pixels in images:
            ours = by_trainer(recognizer, pixels, head=head)
            if head == "ctc":
                scores = reader.columns(pixels)
                ids = scores.argmax(1).tolist()
            else:
                fed = np.array([recognizer.charset.start, *ours.ids[:-1]])
                logits, _ = reader.step(fed, reader.encoded(pixels), reader.no_past())
                scores = onnx_reader.log_softmax(logits)
                ids = [*reader.by_decoder(pixels)[0], recognizer.charset.end]
            worst = max(worst, float(np.abs(ours.scores - scores).max()))
            otherwise += ours.differs_from(ids)
    return LineGate(len(images), len({each.shape for each in images}), tuple(heads), worst, otherwise)


class Followed(NamedTuple):
    """What the trainer chose in an image, column by column or character by character."""

    scores: np.ndarray
    """The log-probability of each id at each place."""
    ids: list[int]

    def differs_from(self, others: list[int]) -> bool:
        """Whether another choice is first made where the two were not equally likely."""
        places = [
            place for place, pair in enumerate(zip(self.ids, others, strict=False)) if pair[0] != pair[1]
        ]
        if not places:
            return len(self.ids) != len(others)
        first = self.scores[places[0]]
        return bool(first[self.ids[places[0]]] - first[others[places[0]]] > 2 * BOUND)


@torch.inference_mode()
def by_trainer(recognizer: Recognizer, pixels: np.ndarray, *, head: str) -> Followed:
    """What the model of the run reads in an image alone."""
    model, charset = recognizer.model, recognizer.charset
    batch = batch_of(recognizer, pixels, [charset.end])
    if isinstance(model, LineReader) and head == "ctc":
        scores = model.column_logits(batch, model.read(batch.patches)).float().log_softmax(1).numpy()
        return Followed(scores, scores.argmax(1).tolist())
    limit = min(recognizer.recipe.data.max_tokens, model.max_positions)
    source, symbols = ImageStream.of(batch.patches), Symbols.of(charset)
    (found,) = greedy(model, source, limits=[limit], symbols=symbols)
    ids = [*found.ids, charset.end]
    batch = batch_of(recognizer, pixels, ids)
    hidden = model.write(batch, model.read(batch.patches))[: len(ids)]
    return Followed(model.logits(hidden).log_softmax(1).numpy(), ids)


def batch_of(recognizer: Recognizer, pixels: np.ndarray, ids: list[int]) -> ImageBatch:
    """One image, as the trainer brings it to its size, with one text."""
    reader = recognizer.reader
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    row = to_row(padded(reader.sized(image), reader.multiple))
    shape = recognizer.batch_shape(torch.device("cpu"))
    shape = replace(shape, characters=max(shape.characters, len(ids)))
    (batch,) = cut(joined([row]), Ragged.of([ids]), shape, start=recognizer.charset.start)
    return batch
