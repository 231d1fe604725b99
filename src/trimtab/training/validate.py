"""The validation sets, scored: loss, translations, samples, and what they say about the model's health."""

import math
import time
from dataclasses import replace
from typing import Any, assert_never

import numpy as np
import torch

from trimtab.build import Parts
from trimtab.config.run import LOWER_IS_BETTER, OF_TRANSLATIONS, Metric
from trimtab.data.valid_set import ValidSet
from trimtab.finding import Finding
from trimtab.flow import Pack, Ragged, TrainState
from trimtab.model.kinds import Model
from trimtab.scoring.perplexity import perplexities
from trimtab.scoring.repetition import (
    NUM_PROBES,
    distinct_outputs,
    find_collapse,
    find_repetition,
    repeated_4grams,
)
from trimtab.scoring.scores import Score, bleu, chrf, ter
from trimtab.step.precision import autocast
from trimtab.training.record import Recorder
from trimtab.training.refreshes import few_refreshes_so_far
from trimtab.translator import Translator

LEARNED_SHARE = 0.7
"""Below this share of the logarithm of the vocabulary a loss shows that something was learned."""
LEAST_REACTION = 0.01
"""Sources given to the wrong targets must raise the loss by at least this share of it."""
FEWEST_PAIRS, SHUFFLED_PAIRS = 8, 256
"""Pairs whose sources are exchanged; with fewer, the sources may be too much alike to tell."""
HALF_WAY = 0.5
"""Before this share of the run loops are normal: a third of the way through the demo a quarter of its lines had one."""
TOO_EARLY = 0.2
"""Before this share of the run few distinct translations, and a loss that the source does not change, are normal: a
model learns which words are common before it learns to translate."""


def validate(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Scores every validation set, once for each step; the state then knows the best evaluation so far."""
    state = recorder.flush(state)
    if state.evaluated == state.step:
        return state
    recorder.findings.look_again_for("E901", "E903", "E906", "M901")
    parts.model.eval()
    model, sets = parts.evaluation_model.copy().eval(), parts.sources.valid
    with recorder.findings.of_an_evaluation():
        scores = {name: score_set(parts, model, valid, state, recorder) for name, valid in sets.items()}
        parts.model.train()
        look_at_health(state, recorder)
    look_at_average(parts, state, recorder)
    recorder.start_clock()
    state = replace(state, evaluated=state.step)
    return with_best(state, scores, parts) if scores else state


def score_set(
    parts: Parts, model: Model, valid: ValidSet, state: TrainState, recorder: Recorder
) -> dict[str, Any]:
    """Loss, BLEU and chrF of one set, written down with its samples."""
    started = time.perf_counter()
    first = valid is next(iter(parts.sources.valid.values()))
    with recorder.health.watching(model, valid if first else None):
        scores: dict[str, Any] = {"step": state.step, "set": valid.name, "loss": loss_of(parts, model, valid)}
    translated = [metric for metric in parts.recipe.evaluate.metrics if metric in OF_TRANSLATIONS]
    if parts.recipe.is_language_model:
        loss, targets = scores["loss"], valid.targets
        scores |= perplexities(loss, num_targets=targets, num_bytes=valid.num_bytes)
    if len(valid.target) and not math.isfinite(scores["loss"]):
        # Nothing can be translated. The guard sees the same at the next steps, and sends the run back.
        told = "" if parts.recipe.is_language_model and not translated else ": nothing was translated"
        recorder.finding(loss_not_finite(valid, scores["loss"], told=told))
        scores |= dict.fromkeys(translated, math.nan)
    elif translated or (first and not parts.recipe.is_language_model):
        scores |= translation_scores(parts, model, valid, state, recorder, loss=scores["loss"])
        scores["seconds"] = round(time.perf_counter() - started, 3)
    recorder.evaluation(scores)
    return scores


def translation_scores(
    parts: Parts,
    model: Model,
    valid: ValidSet,
    state: TrainState,
    recorder: Recorder,
    *,
    loss: float,
) -> dict[str, Any]:
    """What translations of a set are worth, and, for the first set, what they say about the model; with its samples."""
    config = parts.recipe.evaluate
    translated = [metric for metric in config.metrics if metric in OF_TRANSLATIONS]
    lines = spread(len(valid.sources), config.lines if translated else NUM_PROBES)
    sources, references = [valid.sources[i] for i in lines], [valid.references[i] for i in lines]
    outputs = Translator.of(parts, model, beam=config.beam, tags=valid.tags).translate(sources)
    scores: dict[str, Any] = {}
    for metric in translated:
        score = score_of(metric, outputs, references, valid)
        scores |= {metric: round(score.value, 3), f"{metric}_signature": score.signature}
    scores["distinct_outputs"] = round(distinct_outputs(sources, outputs), 4)
    scores["repeated_4grams"] = round(repeated_4grams(outputs), 4)
    scores["lines"] = len(lines)
    if valid is next(iter(parts.sources.valid.values())):
        if parts.pace.share(parts.recipe.length, state) >= TOO_EARLY:
            look_for_collapse(parts, recorder, sources=sources, outputs=outputs, loss=loss)
            look_at_source(parts, model, valid, recorder, loss=loss)
        if parts.pace.share(parts.recipe.length, state) >= HALF_WAY and has_learned(parts, loss):
            look_for_repetition(recorder, outputs=outputs, references=references)
        for i in spread(len(lines), config.samples):
            sample = {"step": state.step, "set": valid.name, "line": lines[i] + 1, "source": sources[i]}
            recorder.samples.write(sample | {"translation": outputs[i], "reference": references[i]})
    return scores


def score_of(metric: Metric, outputs: list[str], references: list[str], valid: ValidSet) -> Score:
    """One score of translations, by sacreBLEU."""
    match metric:
        case "bleu":
            return bleu(outputs, references, tokenize=valid.bleu_tokenizer)
        case "chrf":
            return chrf(outputs, references)
        case "ter":
            return ter(outputs, references)
        case "loss" | "perplexity" | "byte_perplexity" | "bits_per_byte":
            raise AssertionError("what follows from the loss is no score of translations")
        case _:
            assert_never(metric)


@torch.no_grad()
def loss_of(
    parts: Parts, model: Model, valid: ValidSet, *, shift: int = 0, pairs: int | None = None
) -> float:
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
    total, count = 0.0, 0
    for pack in parts.packing.pack_pairs(source, target, prompt=prompt):
        total += float(pack_loss(parts, model, pack))
        count += pack.num_targets
    return total / count


def shifted(rows: Ragged, shift: int) -> Ragged:
    """The rows, each at the place of the one `shift` further on."""
    return rows.take(np.roll(np.arange(len(rows)), shift))


def pack_loss(parts: Parts, model: Model, pack: Pack) -> torch.Tensor:
    """Summed loss of one pack, by the run's model or its half-precision copy."""
    if model is parts.model:
        return parts.stepper.objective(pack).loss
    with autocast(parts.precision, parts.device):
        return parts.stepper.loss(model, pack).loss


def look_at_health(state: TrainState, recorder: Recorder) -> None:
    """What the watches saw since the last evaluation, told and written down.

    In a log of its own: unlike scores these numbers are of this process, and begin anew in one that resumes.
    """
    look = recorder.health.look()
    recorder.health_log.write({"step": state.step, **look.scores})
    recorder.findings.look_again_for(*look.over)
    for finding in look.findings:
        recorder.finding(finding)


def look_at_average(parts: Parts, state: TrainState, recorder: Recorder) -> None:
    """A finding, once, where a moving average is refreshed too seldom for the pace of the run."""
    for finding in few_refreshes_so_far(parts, state):
        if finding.code not in {each.code for each in recorder.findings.standing}:
            recorder.finding(replace(finding, severity="warning"))


def look_for_repetition(recorder: Recorder, *, outputs: list[str], references: list[str]) -> None:
    """A finding where translations loop."""
    finding = find_repetition(outputs, references)
    if finding is not None:
        recorder.finding(finding)


def look_for_collapse(
    parts: Parts, recorder: Recorder, *, sources: list[str], outputs: list[str], loss: float
) -> None:
    """A finding where the model gives the same few sentences whatever it reads.

    An error where the loss says that something was learned; until then it is what any model does at first.
    """
    collapse = find_collapse(sources, outputs)
    if collapse:
        recorder.finding(collapse if has_learned(parts, loss) else replace(collapse, severity="warning"))


def has_learned(parts: Parts, loss: float) -> bool:
    """Whether a loss is well below that of a model that knows nothing."""
    return loss <= LEARNED_SHARE * math.log(parts.sources.tokenizer.num_ids)


def look_at_source(parts: Parts, model: Model, valid: ValidSet, recorder: Recorder, *, loss: float) -> None:
    """Once something is learned, and until it was seen to be well: a finding where the source does not matter."""
    learned = has_learned(parts, loss) and parts.packing.shape.has_source
    if recorder.source_matters or not learned or len(valid.source) < FEWEST_PAIRS:
        return
    right = loss_of(parts, model, valid, pairs=SHUFFLED_PAIRS)
    wrong = loss_of(parts, model, valid, pairs=SHUFFLED_PAIRS, shift=1)
    recorder.source_matters = wrong > right * (1 + LEAST_REACTION)
    if not recorder.source_matters:
        recorder.finding(source_ignored(right, wrong))


def loss_not_finite(valid: ValidSet, loss: float, *, told: str) -> Finding:
    """The model gives no number for a validation set; `told` says what was not done therefore."""
    return Finding(
        code="E906",
        name="evaluation-not-finite",
        severity="error",
        message=f"the loss of the validation set {valid.name} is {loss:g}{told}",
        why="The weights hold numbers that are not finite, or so large that they overflow.",
        fix="let the run go on: its guard takes it back to a healthy checkpoint; or begin anew with a lower rate",
    )


def source_ignored(right: float, wrong: float) -> Finding:
    """The loss is the same whatever source a target is given."""
    return Finding(
        code="M901",
        name="source-ignored",
        severity="error",
        message=f"with the sources of other lines the loss is {wrong:.3f}, with their own {right:.3f}",
        why="The model predicts the target from the target alone: sources and targets do not belong together, or the "
        "encoder does not reach the decoder.",
        fix="check that line n of the source is translated by line n of the target: `trimtab data inspect RECIPE`",
    )


def spread(count: int, limit: int | None) -> list[int]:
    """At most `limit` numbers below `count`, evenly spread."""
    if limit is None or limit >= count:
        return list(range(count))
    return [i * count // limit for i in range(limit)]


def with_best(state: TrainState, scores: dict[str, dict[str, Any]], parts: Parts) -> TrainState:
    """The state with the best evaluation so far, and how many have passed since."""
    best = parts.recipe.evaluate.best
    name = best.set or next(iter(scores))
    value = scores[name][best.metric]
    sign = -1 if best.metric in LOWER_IS_BETTER else 1
    # Scores of a run are of the raw weights unless they say otherwise.
    averaged = {"weights": "ema"} if parts.recipe.evaluate.weights == "ema" else {}
    compared = {"set": name, "metric": best.metric, **averaged}
    same = {key: state.best.get(key) for key in ("set", "metric", "weights") if key in state.best} == compared
    old = state.best["value"] if same else None
    if not math.isfinite(value):
        value = -sign * math.inf
    if old is None or sign * value > sign * old:
        new = {**compared, "value": value, "step": state.step, "since": 0}
        return replace(state, best=new)
    return replace(state, best={**state.best, "since": state.best.get("since", 0) + 1})
