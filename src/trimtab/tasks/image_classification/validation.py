"""The numbers of a validation: the loss of a set, the classes that the model gives, and their metrics."""

import math
import time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.evaluation.score_rows import score_rows, total
from trimtab.metrics.catalogue import OF_LABELS
from trimtab.metrics.metric import GivenLabels
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.image_classification.model import ImageClassifier
from trimtab.tasks.images.square_batches import SquareBatch
from trimtab.tasks.images.squares import SquareSet
from trimtab.tasks.task import ExampleLosses, Moment, Validated


@torch.no_grad()
def log_probabilities(model: ImageClassifier, batch: SquareBatch) -> Tensor:
    """The natural log-probability of each class for each image of a batch, `images classes`, float32 or wider."""
    hidden = model(batch)[: batch.num_targets]
    logits = F.linear(hidden, model.output_matrix.to(hidden.dtype))[:, : model.num_ids]
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(1)


def losses_of(model: ImageClassifier, batch: SquareBatch) -> Tensor:
    """Nats of each image's class, without smoothing."""
    return -log_probabilities(model, batch).gather(1, batch.labels[: batch.num_targets, None])[:, 0]


def loss_of(parts: Any, model: ImageClassifier, valid: SquareSet) -> float:
    """Nats per image, without smoothing."""
    return total(scored(parts, model, valid, losses_of)) / valid.rows if valid.rows else math.nan


def scored(parts: Any, model: ImageClassifier, valid: SquareSet, score: Any) -> list[Any]:
    """What `score` gives for each image of a set."""
    return score_rows(
        parts.batching.whole_set(valid.rows_of_bytes, valid.classes),
        lambda batch: score(model, batch),
        device=parts.device,
        precision=parts.precision,
        ranks=parts.stepper.ranks,
    )


def validated(parts: Any, model: ImageClassifier, valid: SquareSet, moment: Moment) -> Validated:
    """The metrics of the recipe; of the first set some of its images too, with the class that each was given."""
    wanted = [OF_LABELS[name] for name in parts.recipe.evaluate.metrics if name in OF_LABELS]
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": no class was given")
        return Validated(dict.fromkeys((metric.name for metric in wanted), math.nan), findings=[ill])
    found = np.array(scored(parts, model, valid, likeliest)).reshape(-1, 2)
    numbers = found[:, 0].astype(np.int64)
    given = GivenLabels(predicted=numbers.tolist(), true=valid.classes.tolist())
    scores: dict[str, Any] = {metric.name: round(metric.compute(given), 6) for metric in wanted}
    scores |= {"lines": valid.rows, "seconds": round(time.perf_counter() - moment.started, 3)}
    names = parts.datasets.labels.names
    samples = [
        {
            "line": line + 1,
            "source": valid.places[line],
            "label": names[valid.classes[line]],
            "predicted": names[numbers[line]],
            "probability": round(float(found[line, 1]), 6),
        }
        for line in spread(valid.rows, parts.recipe.evaluate.samples if moment.first else 0)
    ]
    return Validated(scores, samples=samples)


def likeliest(model: ImageClassifier, batch: SquareBatch) -> Tensor:
    """Number and probability of the likeliest class of each image, `images 2`."""
    largest = log_probabilities(model, batch).max(1)
    return torch.stack([largest.indices.double(), largest.values.double().exp()], dim=1)


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example of a step by the model as it is, without smoothing or truncation."""
    batches = parts.batching.whole_set(window.source, window.target.values)
    losses = score_rows(
        batches, lambda batch: losses_of(parts.model, batch), device=parts.device, precision=parts.precision
    )
    return ExampleLosses(np.array(losses), np.ones(len(losses), np.int64))
