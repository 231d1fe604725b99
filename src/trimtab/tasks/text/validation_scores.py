"""The numbers of a validation: the loss of a set, its translations, and the metrics of both."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from trimtab.data.cut import pack_pairs
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import ValidSet, spread
from trimtab.distributed.agree import in_turn
from trimtab.evaluation.repetition import NUM_PROBES, distinct_outputs, repeated_4grams
from trimtab.evaluation.score_rows import in_first_order, row_scores, score_rows, sorted_by_length, total
from trimtab.inference import Translator
from trimtab.metrics.catalogue import OF_TRANSLATIONS
from trimtab.metrics.metric import MetricSettings, TranslationMetric, Translations
from trimtab.model.kinds import Model
from trimtab.tasks.task import ExampleLosses
from trimtab.types import PackedBatch, Ragged


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedLines:
    """Lines of a validation set with their translations."""

    lines: list[int]
    """Their numbers in the set, from 0."""
    sources: list[str]
    references: list[str]
    outputs: list[str]


def loss_of(parts: Any, model: Model, valid: ValidSet, *, shift: int = 0, pairs: int | None = None) -> float:
    """Nats per target token; `shift` gives each target the source of another, `pairs` takes the first few."""
    source, target, prompt = valid.source, valid.target, valid.prompt
    if pairs is not None:
        source, target = (
            source.between(0, min(pairs, len(source))),
            target.between(0, min(pairs, len(target))),
        )
        prompt = None if prompt is None else prompt[:pairs]
    if len(target) == 0:
        return math.nan
    if shift:
        source = shifted(source, shift)
    count = 0

    def counted(packs: Iterator[PackedBatch]) -> Iterator[PackedBatch]:
        nonlocal count
        for pack in packs:
            count += pack.num_targets
            yield pack

    # The run's precision for its half-precision copy too, so that norms are in float32 as in training.
    losses = score_rows(
        counted(parts.batching.pack_pairs(source, target, prompt=prompt)),
        lambda pack: parts.stepper.loss(model, pack).loss,
        device=parts.device,
        precision=parts.precision,
        ranks=parts.stepper.ranks,
    )
    return total(losses) / count


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example by the model as it is, without smoothing or truncation."""
    order = sorted_by_length(window.source, window.target)
    prompt = np.zeros(len(window.target), np.int32) if window.prompt is None else window.prompt
    targets = window.target.lengths - prompt
    packs = pack_pairs(
        window.source.take(order),
        window.target.take(order),
        parts.batching.shape,
        prompt=prompt[order],
        **parts.datasets.tokenizers.symbols,
    )
    scores = score_rows(
        packs,
        lambda pack: row_scores(parts.model, pack),
        device=parts.device,
        precision=parts.precision,
    )
    summed = 0.0 - in_first_order(scores, order)  # a loss of nothing is 0, and not -0
    return ExampleLosses(summed / np.maximum(targets, 1), targets.astype(np.int64))


def shifted(rows: Ragged, shift: int) -> Ragged:
    """The rows, each at the place of the one `shift` further on."""
    return rows.take(np.roll(np.arange(len(rows)), shift))


def metrics_of_translations(parts: Any) -> list[TranslationMetric]:
    """Those that the recipe names, in its order."""
    names = parts.recipe.evaluate.metrics
    return [metric for name in names if (metric := OF_TRANSLATIONS.get(name)) is not None]


def translate(parts: Any, model: Model, valid: ValidSet) -> TranslatedLines:
    """So many lines of a set as the recipe says; a few where no metric needs them, to see what they look like."""
    config = parts.recipe.evaluate
    lines = spread(len(valid.sources), config.lines if metrics_of_translations(parts) else NUM_PROBES)
    sources, references = [valid.sources[i] for i in lines], [valid.references[i] for i in lines]
    translator = Translator.of(parts, model, beam=config.beam, tags=valid.tags)
    outputs = in_turn(translator.translate, sources, parts.stepper.ranks)
    return TranslatedLines(lines=lines, sources=sources, references=references, outputs=outputs)


def translation_scores(parts: Any, valid: ValidSet, found: TranslatedLines) -> dict[str, Any]:
    """The metrics of the translations that the recipe names, and how much they repeat themselves."""
    lines = Translations(
        outputs=found.outputs,
        references=found.references,
        sources=found.sources,
        settings=MetricSettings(bleu_tokenizer=valid.bleu_tokenizer),
    )
    scores: dict[str, Any] = {}
    for metric in metrics_of_translations(parts):
        score = metric.compute(lines)
        scores |= {metric.name: round(score.value, 3), f"{metric.name}_signature": score.signature}
    scores["distinct_outputs"] = round(distinct_outputs(found.sources, found.outputs), 4)
    scores["repeated_4grams"] = round(repeated_4grams(found.outputs), 4)
    scores["lines"] = len(found.lines)
    return scores
