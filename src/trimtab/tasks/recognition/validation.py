"""The numbers of a validation: the loss of a set, what the model reads in it, and the metrics of that."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.evaluation.score_rows import score_rows, total
from trimtab.metrics.catalogue import OF_READINGS
from trimtab.metrics.metric import Readings, edit_distance
from trimtab.model.attention_cached import at_any_length
from trimtab.step.precision import autocast
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.images.pixels import from_row
from trimtab.tasks.images.sheet import sheet_of
from trimtab.tasks.recognition.batches import ImageBatch
from trimtab.tasks.recognition.datasets import ImageSet
from trimtab.tasks.recognition.losses import ctc_of_batch
from trimtab.tasks.recognition.model import LineReader
from trimtab.tasks.recognition.reading import read_all
from trimtab.tasks.recognition.trocr import AnyReader
from trimtab.tasks.task import ExampleLosses, Moment, Validated

MOST_SHOWN, MOST_CHARACTERS = 8, 600
"""Lines with their text, of the worst and of the best each, and how much of each text."""


def loss_of(parts: Any, model: AnyReader, valid: ImageSet) -> float:
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
def validated(parts: Any, model: AnyReader, valid: ImageSet, moment: Moment) -> Validated:
    """The metrics of the recipe on lines that are spread over the set; of the first set some lines as they are read."""
    recipe, charset = parts.recipe, parts.datasets.charset
    wanted = [OF_READINGS[name] for name in recipe.evaluate.metrics if name in OF_READINGS]
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": nothing was read")
        return Validated(dict.fromkeys((metric.name for metric in wanted), math.nan), findings=[ill])
    lines = np.array(spread(valid.rows, recipe.evaluate.lines), np.int64)
    batches = parts.batching.whole_set(valid.images.take(lines), valid.ids.take(lines))
    with autocast(parts.precision, parts.device), at_any_length():
        most, beam = recipe.data.max_tokens, recipe.evaluate.beam
        found = read_all(model, batches, charset, head=main_head(model), most=most, beam=beam)
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
    numbers = [int(line) for line in lines]
    sentences = lines_of(given, numbers, valid.places) if moment.first else None
    return Validated(scores, samples=samples, picture=picture, sentences=sentences)


def lines_of(given: Readings, lines: Sequence[int], places: Sequence[str]) -> dict[str, Any]:
    """The line of `sentences.jsonl` for an evaluation, without step and set: the length of each text, the share of its
    characters that were read, in percent, and the texts of the worst and the best."""
    pairs = list(zip(given.outputs, given.references, strict=True))
    scores = [
        round(100 * max(0.0, 1 - edit_distance(output, reference) / max(1, len(reference))), 1)
        for output, reference in pairs
    ]
    order = sorted(range(len(pairs)), key=lambda i: (scores[i], lines[i]))
    shown = min(MOST_SHOWN, len(order) // 2)

    def text(i: int) -> dict[str, Any]:
        output, reference = (each[:MOST_CHARACTERS] for each in pairs[i])
        known = {"source": places[lines[i]], "output": output, "reference": reference}
        return {"line": lines[i] + 1, "score": scores[i], **known}

    return {
        "metric": "characters read, %",
        "unit": "characters",
        "lines": [line + 1 for line in lines],
        "words": [len(reference) for _, reference in pairs],
        "scores": scores,
        "worst": [text(i) for i in order[:shown]],
        "best": [text(i) for i in reversed(order[len(order) - shown :])],
    }


def line_image(row: np.ndarray) -> Image.Image:
    """A line as the model sees it, of its row of bytes."""
    pixels = from_row(row)
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def main_head(model: AnyReader) -> str:
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


def losses_by_image(model: AnyReader, batch: ImageBatch) -> Tensor:
    """Nats of each text of a batch, of the decoder where there is one."""
    memory = model.read(batch.patches)
    if isinstance(model, LineReader) and not model.config.has_decoder:
        return ctc_of_batch(model, batch, memory)
    hidden, used = model.write(batch, memory), batch.num_targets
    logits = (hidden[:used] @ model.output_matrix.to(hidden.dtype).T)[:, : model.num_ids]
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(1)
    nats = -logits.gather(1, batch.labels[:used, None])[:, 0].double()
    sums = nats.new_zeros(batch.num_segments)
    return sums.index_add(0, batch.text.segments[:used], nats)
