"""The metrics that a recipe can name, in display order."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from trimtab.metrics.bleu import BLEU
from trimtab.metrics.boxes import OF_BOXES as BOXES
from trimtab.metrics.chrf import CHRF, CHRFPP
from trimtab.metrics.comet import COMET
from trimtab.metrics.labels import ACCURACY, MACRO_F1
from trimtab.metrics.loss import LOSS
from trimtab.metrics.metric import (
    BoxMetric,
    LabelMetric,
    LossMetric,
    Metric,
    MetricGroup,
    Nats,
    ReadingMetric,
    TranslationMetric,
)
from trimtab.metrics.off_target import OFF_TARGET
from trimtab.metrics.perplexity import BITS_PER_BYTE, BYTE_PERPLEXITY, PERPLEXITY
from trimtab.metrics.readings import CER, EXACT, LOOPS, WER
from trimtab.metrics.ter import TER

METRICS: tuple[Metric, ...] = (
    LOSS,
    PERPLEXITY,
    BYTE_PERPLEXITY,
    BITS_PER_BYTE,
    BLEU,
    CHRF,
    CHRFPP,
    TER,
    OFF_TARGET,
    ACCURACY,
    MACRO_F1,
    CER,
    WER,
    EXACT,
    LOOPS,
    *BOXES,
)
ON_REQUEST: tuple[TranslationMetric, ...] = (COMET,)
"""Metrics of evaluations alone: they need a setting that recipes have no key for."""

if TYPE_CHECKING:
    MetricName = str  # a type checker knows no Literal that is made of values
else:
    MetricName = Literal[tuple(metric.name for metric in METRICS)]

OF_TRANSLATIONS = {metric.name: metric for metric in METRICS if isinstance(metric, TranslationMetric)}
"""Metrics for which something is translated, by name."""
OF_LABELS = {metric.name: metric for metric in METRICS if isinstance(metric, LabelMetric)}
"""Metrics of classifiers, by name."""
OF_READINGS = {metric.name: metric for metric in METRICS if isinstance(metric, ReadingMetric)}
"""Metrics of texts that were read in images, by name."""
OF_BOXES = {metric.name: metric for metric in METRICS if isinstance(metric, BoxMetric)}
"""Metrics of detectors, by name."""
OF_THE_LOSS = {
    metric.name: metric for metric in METRICS if isinstance(metric, LossMetric) and metric.of_texts
}
"""Metrics of language models, which follow from the loss and the number of bytes, by name."""
_BY_NAME = {metric.name: metric for metric in (*METRICS, *ON_REQUEST)}


def metrics_in(group: MetricGroup) -> Mapping[str, Metric]:
    """The metrics of a group by name; the loss is in none, as every task has it."""
    return {metric.name: metric for metric in METRICS if metric.group == group and metric is not LOSS}


def metric_of(name: str) -> Metric:
    """The metric of a name."""
    return _BY_NAME[name]


def text_scores(loss: float, *, num_targets: int, num_bytes: int) -> dict[str, float]:
    """The metrics of language models by name, from the nats per target token of a text. What is per byte is NaN where
    there is no text."""
    nats = Nats.of(loss, num_targets=num_targets, num_bytes=num_bytes)
    return {name: metric.compute(nats) for name, metric in OF_THE_LOSS.items()}
