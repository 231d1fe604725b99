"""What the validation of a model of text gives besides the loss: metrics, translations, signs of a broken model."""

import math
import time
from typing import Any

from trimtab.data.valid_set import ValidSet, spread
from trimtab.metrics.catalogue import text_scores
from trimtab.model.kinds import Model
from trimtab.run_findings.evaluations import (
    COLLAPSED_OUTPUTS,
    SOURCE_IGNORED,
    TRANSLATIONS_REPEAT_THEMSELVES,
)
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.task import Moment, Validated
from trimtab.tasks.text.diagnose import diagnose
from trimtab.tasks.text.sentences import sentences_of
from trimtab.tasks.text.validation_scores import (
    TranslatedLines,
    metrics_of_translations,
    translate,
    translation_scores,
)

JUDGED_AGAIN = (COLLAPSED_OUTPUTS.code, TRANSLATIONS_REPEAT_THEMSELVES.code, SOURCE_IGNORED.code)
"""What a diagnosis finds in the model: a collapse, loops, sources that are ignored."""


def validated(parts: Any, model: Model, valid: ValidSet, moment: Moment) -> Validated:
    """Scores, findings and samples of one set, whose loss is known; of the first set what they say of the model."""
    metrics, by_loss = metrics_of_translations(parts), parts.recipe.facts.scores_follow_from_the_loss
    scores: dict[str, Any] = {}
    if by_loss:
        scores |= text_scores(moment.loss, num_targets=valid.targets, num_bytes=valid.num_bytes)
    if valid.rows and not math.isfinite(moment.loss):
        # Nothing can be translated. The guard sees the same at the next steps, and sends the run back.
        consequence = "" if by_loss and not metrics else ": nothing was translated"
        scores |= dict.fromkeys((metric.name for metric in metrics), math.nan)
        ill = loss_not_finite(valid.name, moment.loss, consequence=consequence)
        return Validated(scores, findings=[ill], input_matters=moment.input_matters)
    if not metrics and not (moment.first and not by_loss):
        return Validated(scores, input_matters=moment.input_matters)
    found = translate(parts, model, valid)
    scores |= translation_scores(parts, valid, found)
    said = None
    if moment.first:
        said = diagnose(
            parts,
            model,
            valid,
            found,
            loss=moment.loss,
            share=moment.share,
            source_matters=moment.input_matters,
        )
    scores["seconds"] = round(time.perf_counter() - moment.started, 3)
    if said is None:
        return Validated(scores, input_matters=moment.input_matters)
    samples = samples_of(found, limit=parts.recipe.evaluate.samples)
    return Validated(
        scores,
        findings=said.findings,
        samples=samples,
        sentences=sentences_of(parts, model, valid, found) if found.lines else None,
        input_matters=said.source_matters,
    )


def samples_of(found: TranslatedLines, *, limit: int) -> list[dict[str, Any]]:
    """At most `limit` of the translations, evenly spread, as lines of `samples.jsonl`."""
    return [
        {
            "line": found.lines[i] + 1,
            "source": found.sources[i],
            "translation": found.outputs[i],
            "reference": found.references[i],
        }
        for i in spread(len(found.lines), limit)
    ]
