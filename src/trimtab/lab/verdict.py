"""What numbers say of a prediction, and all of an experiment's predictions of its claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trimtab.lab.experiment import Experiment, Prediction
from trimtab.lab.statistics import LEVEL, Paired, paired

Outcome = Literal["confirmed", "refuted", "no effect", "undecided"]
Verdict = Literal[
    "confirmed", "refuted", "mixed", "no effect at this scale", "undecided at this scale", "unfinished"
]
Scores = Mapping[str, Mapping[int, float]]
"""By arm and seed."""
AGAIN = "reference, other weights"
"""The arm that differs from the reference in nothing but the seed of its first weights: what comes of noise alone."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prediction with its numbers. Differences are positive where the arm is better."""

    prediction: Prediction
    seeds: tuple[int, ...]
    differences: tuple[float, ...]
    result: Paired

    def outcome(self, *, p: float) -> Outcome:
        """What it says; `p` is its p-value, corrected for the number of comparisons in its table.

        An interval within the margin is no effect, however significant; a prediction of `same` is then confirmed.
        """
        margin, result = self.prediction.margin, self.result
        within = -margin < result.low and result.high < margin
        if within:
            return "confirmed" if self.prediction.expect == "same" else "no effect"
        if p >= LEVEL:
            return "undecided"
        if self.prediction.expect == "same":
            return "refuted"
        return "confirmed" if (result.mean > 0) == (self.prediction.expect == "better") else "refuted"


def compare(experiment: Experiment, scores: Scores) -> list[Comparison]:
    """Each prediction over the seeds that both of its arms have; those with fewer than two are left out."""
    assert experiment.measure is not None, "an experiment with arms"
    found: list[Comparison] = []
    for prediction in experiment.predictions:
        arm, than = scores.get(prediction.arm, {}), scores.get(prediction.than, {})
        seeds = tuple(seed for seed in experiment.seeds if seed in arm and seed in than)
        if len(seeds) >= 2:
            differences = tuple(experiment.measure.sign * (arm[seed] - than[seed]) for seed in seeds)
            found.append(Comparison(prediction, seeds, differences, paired(differences)))
    return found


def noise(experiment: Experiment, scores: Scores) -> Paired | None:
    """The A/A pair: how far two runs of the reference are apart; None where fewer than two seeds have it."""
    again, reference = scores.get(AGAIN, {}), scores.get(experiment.reference, {})
    seeds = [seed for seed in experiment.seeds if seed in again and seed in reference]
    return paired([again[seed] - reference[seed] for seed in seeds]) if len(seeds) >= 2 else None


def verdict_of(experiment: Experiment, comparisons: Sequence[Comparison], values: Sequence[float]) -> Verdict:
    """Of the claim: `values` are the corrected p-values of the comparisons."""
    complete = len(comparisons) == len(experiment.predictions)
    if not complete or any(each.seeds != experiment.seeds for each in comparisons):
        return "unfinished"
    outcomes: set[Outcome] = {each.outcome(p=p) for each, p in zip(comparisons, values, strict=True)}
    if len(outcomes) > 1:
        return "mixed"
    match outcomes.pop():
        case "confirmed":
            return "confirmed"
        case "refuted":
            return "refuted"
        case "no effect":
            return "no effect at this scale"
        case "undecided":
            return "undecided at this scale"
