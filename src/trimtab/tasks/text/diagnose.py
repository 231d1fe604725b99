"""Diagnoses a model from its validation: collapse, ignored source, repetition, overflow."""

from dataclasses import dataclass, replace
from typing import Any

from trimtab.data.valid_set import ValidSet
from trimtab.evaluation.repetition import find_collapse, find_repetition
from trimtab.finding import Finding
from trimtab.model.kinds import Model
from trimtab.run_findings.evaluations import SOURCE_IGNORED
from trimtab.tasks.text.validation_scores import TranslatedLines, loss_of

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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found, in the order in which it is reported."""

    findings: list[Finding]
    source_matters: bool
    """Whether the loss was seen to rise when sources were exchanged, now or before."""


def diagnose(
    parts: Any,
    model: Model,
    valid: ValidSet,
    found: TranslatedLines,
    *,
    loss: float,
    share: float,
    source_matters: bool,
) -> Diagnosis:
    """What the loss and the translations of a set show after a `share` of the run.

    That the model gives the same few sentences whatever it reads is an error where the loss says that something was
    learned; until then it is what any model does at first. Whether the source matters is looked at once something is
    learned, and until it was seen to; loops are looked for in the second half of a run.
    """
    findings: list[Finding] = []
    learned = has_learned(parts, loss)
    if share >= TOO_EARLY:
        if collapse := find_collapse(found.sources, found.outputs):
            findings.append(collapse if learned else replace(collapse, severity="warning"))
        if learned and not source_matters and (losses := losses_by_source(parts, model, valid)):
            source_matters = losses.of_others > losses.own * (1 + LEAST_REACTION)
            if not source_matters:
                findings.append(source_ignored(losses.own, losses.of_others))
    if share >= HALF_WAY and learned and (loops := find_repetition(found.outputs, found.references)):
        findings.append(loops)
    return Diagnosis(findings, source_matters)


def has_learned(parts: Any, loss: float) -> bool:
    """Whether a loss is well below that of a model that knows nothing."""
    return loss <= LEARNED_SHARE * parts.task.untrained(parts.datasets).loss


@dataclass(frozen=True, slots=True)
class LossesBySource:
    """Nats per target token of the first pairs of a set."""

    own: float
    """With their own sources."""
    of_others: float
    """With each other's."""


def losses_by_source(parts: Any, model: Model, valid: ValidSet) -> LossesBySource | None:
    """None if the model reads no sources, or there are too few pairs to judge by."""
    if not parts.batching.shape.has_source or len(valid.source) < FEWEST_PAIRS:
        return None
    return LossesBySource(
        own=loss_of(parts, model, valid, pairs=SHUFFLED_PAIRS),
        of_others=loss_of(parts, model, valid, pairs=SHUFFLED_PAIRS, shift=1),
    )


def source_ignored(right: float, wrong: float) -> Finding:
    """The loss is the same whatever source a target is given."""
    return SOURCE_IGNORED.found(
        f"with the sources of other lines the loss is {wrong:.3f}, with their own {right:.3f}"
    )
