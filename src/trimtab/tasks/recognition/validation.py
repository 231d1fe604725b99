"""The numbers of a validation: the loss of a set, what the model reads in it, and the metrics of that."""

import math
import time
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.evaluation.score_rows import score_rows, total
from trimtab.metrics.catalogue import OF_READINGS
from trimtab.metrics.metric import Readings
from trimtab.model.attention_cached import at_any_length
from trimtab.step.precision import autocast
from trimtab.tasks.images.pixels import from_row
from trimtab.tasks.images.sheet import sheet_of
from trimtab.tasks.recognition.batches import ImageBatch
from trimtab.tasks.recognition.datasets import ImageSet
from trimtab.tasks.recognition.losses import ctc_of_batch
from trimtab.tasks.recognition.model import LineReader
from trimtab.tasks.recognition.reading import read_all
from trimtab.tasks.task import ExampleLosses, Moment, Validated
from trimtab.tasks.text.diagnose import loss_not_finite


def loss_of(parts: Any, model: LineReader, valid: ImageSet) -> float:
    """Nats per character, without smoothing. A text with more characters than CTC has columns for counts as 0 nats,
    and as what is read of it in the other scores."""
    losses = score_rows(
        parts.batching.whole_set(valid.images, valid.ids),
        lambda batch: parts.stepper.loss(model, batch).loss,
        device=parts.device,
        precision=parts.precision,
    )
    return total(losses) / int(valid.ids.offsets[-1]) if valid.rows else math.nan


@torch.no_grad()
def validated(parts: Any, model: LineReader, valid: ImageSet, moment: Moment) -> Validated:
    """The metrics of the recipe on lines that are spread over the set; of the first set some lines as they are read."""
    recipe, charset = parts.recipe, parts.datasets.charset
    wanted = [OF_READINGS[name] for name in recipe.evaluate.metrics if name in OF_READINGS]
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": nothing was read")
        return Validated(dict.fromkeys((metric.name for metric in wanted), math.nan), findings=[ill])
    lines = np.array(spread(valid.rows, recipe.evaluate.lines), np.int64)
    batches = parts.batching.whole_set(valid.images.take(lines), valid.ids.take(lines))
    with autocast(parts.precision, parts.device), at_any_length():
        found = read_all(model, batches, charset, head=main_head(model), most=recipe.data.max_tokens)
    outputs, references = [each.text for each in found], [valid.texts[line] for line in lines]
    given = Readings(outputs=outputs, references=references)
    scores: dict[str, Any] = {metric.name: round(metric.compute(given), 6) for metric in wanted}
    scores |= {"lines": len(lines), "seconds": round(time.perf_counter() - moment.started, 3)}
    shown = spread(len(lines), recipe.evaluate.samples if moment.first else 0)
    samples = [
        {
            "line": int(lines[number]) + 1,
            "source": valid.places[lines[number]],
            "output": outputs[number],
            "reference": references[number],
            "confidence": round(found[number].confidence, 6),
        }
        for number in shown
    ]
    picture = sheet_of([line_image(valid.images.row(int(lines[number]))) for number in shown], columns=1)
    return Validated(scores, samples=samples, picture=picture)


def line_image(row: np.ndarray) -> Image.Image:
    """A line as the model sees it, of its row of bytes."""
    pixels = from_row(row)
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def main_head(model: LineReader) -> str:
    """Which head reads where none is chosen: the decoder, where there is one."""
    return "attention" if model.config.has_decoder else "ctc"


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example of a step by the model as it is, without smoothing or truncation."""

    def score(batch: ImageBatch) -> Tensor:
        return losses_by_image(parts.model, batch)

    batches = parts.batching.whole_set(window.source, window.target)
    sums = np.array(score_rows(batches, score, device=parts.device, precision=parts.precision))
    targets = window.target.lengths.astype(np.int64)
    return ExampleLosses(sums / targets, targets)


def losses_by_image(model: LineReader, batch: ImageBatch) -> Tensor:
    """Nats of each text of a batch, of the decoder where there is one."""
    memory = model.read(batch.patches)
    if not model.config.has_decoder:
        return ctc_of_batch(model, batch, memory)
    hidden, used = model.write(batch, memory), batch.num_targets
    logits = (hidden[:used] @ model.output_matrix.to(hidden.dtype).T)[:, : model.num_ids]
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(1)
    nats = -logits.gather(1, batch.labels[:used, None])[:, 0].double()
    sums = nats.new_zeros(batch.num_segments)
    return sums.index_add(0, batch.text.segments[:used], nats)
