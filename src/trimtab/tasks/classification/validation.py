"""The numbers of a validation: the loss of a set, the labels that the model gives, and their metrics."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.evaluation.score_rows import score_rows, total
from trimtab.metrics.catalogue import OF_LABELS
from trimtab.metrics.metric import GivenLabels
from trimtab.model.module.classifier import ModuleClassifier
from trimtab.step.precision import Resolved
from trimtab.tasks.classification.batches import LabelledBatch
from trimtab.tasks.classification.datasets import LabelledSet
from trimtab.tasks.classification.model import SequenceClassifier
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.task import ExampleLosses, Moment, Validated


def loss_of(parts: Any, model: SequenceClassifier | ModuleClassifier, valid: LabelledSet) -> float:
    """Nats per example, without smoothing."""
    batches = parts.batching.whole_set(valid.text, valid.labels)
    losses = score_rows(
        batches,
        lambda batch: parts.stepper.loss(model, batch).loss,
        device=parts.device,
        precision=parts.precision,
        ranks=parts.stepper.ranks,
    )
    return total(losses) / valid.rows if valid.rows else math.nan


@torch.no_grad()
def log_probabilities(model: SequenceClassifier | ModuleClassifier, batch: LabelledBatch) -> Tensor:
    """The natural log-probability of each label for each text of a batch, `segments labels`, float32 or wider."""
    hidden = model(batch)[: batch.num_segments]
    logits = F.linear(hidden, model.output_matrix.to(hidden.dtype))[:, : model.num_ids]
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(1)


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a model says of each text of a set."""

    labels: np.ndarray
    """The number of the likeliest label, int64."""
    probabilities: np.ndarray
    """Its probability, float64."""


def predicted(
    model: SequenceClassifier | ModuleClassifier,
    batches: Iterable[LabelledBatch],
    *,
    device: torch.device,
    precision: Resolved | None,
    ranks: Ranks = ONE_RANK,
) -> Predicted:
    """The likeliest label of each text, in order."""

    def score(batch: LabelledBatch) -> Tensor:
        largest = log_probabilities(model, batch).max(1)
        return torch.stack([largest.indices.double(), largest.values.double().exp()], dim=1)

    found = np.array(score_rows(batches, score, device=device, precision=precision, ranks=ranks)).reshape(
        -1, 2
    )
    return Predicted(found[:, 0].astype(np.int64), found[:, 1])


def validated(
    parts: Any, model: SequenceClassifier | ModuleClassifier, valid: LabelledSet, moment: Moment
) -> Validated:
    """The metrics of the recipe; of the first set some of its texts too, with the label that each was given."""
    wanted = [OF_LABELS[name] for name in parts.recipe.evaluate.metrics if name in OF_LABELS]
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": no label was given")
        return Validated(dict.fromkeys((metric.name for metric in wanted), math.nan), findings=[ill])
    batches = parts.batching.whole_set(valid.text, valid.labels)
    found = predicted(
        model, batches, device=parts.device, precision=parts.precision, ranks=parts.stepper.ranks
    )
    names = parts.datasets.labels.names
    given = GivenLabels(predicted=found.labels.tolist(), true=valid.labels.tolist())
    scores: dict[str, Any] = {metric.name: round(metric.compute(given), 6) for metric in wanted}
    scores |= {"lines": valid.rows, "seconds": round(time.perf_counter() - moment.started, 3)}
    samples = [
        {
            "line": line + 1,
            "source": valid.texts[line],
            "label": names[valid.labels[line]],
            "predicted": names[found.labels[line]],
            "probability": round(float(found.probabilities[line]), 6),
        }
        for line in spread(valid.rows, parts.recipe.evaluate.samples if moment.first else 0)
    ]
    return Validated(scores, samples=samples)


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example of a step by the model as it is, without smoothing or truncation."""
    batches = parts.batching.whole_set(window.source, window.target.values)

    def score(batch: LabelledBatch) -> Tensor:
        labels = batch.labels[: batch.num_segments, None]
        return -log_probabilities(parts.model, batch).gather(1, labels)[:, 0]

    losses = score_rows(batches, score, device=parts.device, precision=parts.precision)
    return ExampleLosses(np.array(losses), np.ones(len(losses), np.int64))
