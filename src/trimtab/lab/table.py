"""The experiments of a folder with their verdicts: p-values are corrected over all of them together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.errors import input_error
from trimtab.lab.experiment import Loaded, load_experiment, names_in
from trimtab.lab.result import read_result, scores_of
from trimtab.lab.statistics import Paired, holm
from trimtab.lab.verdict import Comparison, Scores, compare, noise, verdict_of

NOT_RUN = "not run"
AS_PREDICTED, OTHERWISE = "as predicted", "not as predicted"
"""Verdicts of experiments with a script of their own, which judges its claims itself."""


@dataclass(slots=True, kw_only=True)
class Row:
    """An experiment and what its result says."""

    loaded: Loaded
    result: Mapping[str, Any] | None = None
    scores: Scores = field(default_factory=dict[str, Mapping[int, float]])
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    adjusted: list[float] = field(default_factory=list[float])
    """P-values of the comparisons, corrected over the table."""
    noise: Paired | None = None

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.loaded.name

    @property
    def question(self) -> str:
        """What it asks."""
        return self.loaded.experiment.question

    @property
    def verdict(self) -> str:
        """What the numbers say of the claim."""
        if self.result is None:
            return NOT_RUN
        if self.loaded.experiment.script is not None:
            return AS_PREDICTED if self.result["verdict"]["as predicted"] else OTHERWISE
        return verdict_of(self.loaded.experiment, self.comparisons, self.adjusted)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        result: Mapping[str, Any] = self.result or {}
        return {
            "name": self.name,
            "question": self.question,
            "claim": self.loaded.experiment.claim,
            "verdict": self.verdict,
            "scale": result.get("scale"),
            "comparisons": [
                {
                    "arm": each.prediction.arm,
                    "than": each.prediction.than,
                    "expect": each.prediction.expect,
                    "margin": each.prediction.margin,
                    "outcome": each.outcome(p=p),
                    "difference": each.result.mean,
                    "interval": [each.result.low, each.result.high],
                    "p": each.result.p,
                    "p_adjusted": p,
                    "seeds": list(each.seeds),
                }
                for each, p in zip(self.comparisons, self.adjusted, strict=True)
            ],
            "noise": None if self.noise is None else self.noise.deviation,
        }


def table_of(folder: Path, *, instead: Mapping[str, Path] | None = None) -> list[Row]:
    """All experiments of a folder by name; `instead` names other results than the stored ones.

    Raises InputError for an experiment or a result that is wrong.
    """
    rows: list[Row] = []
    for name in names_in(folder):
        loaded = load_experiment(folder, name)
        path = (instead or {}).get(name, loaded.result)
        rows.append(_row(loaded, read_result(path) if path.is_file() else None))
    corrected = iter(holm([each.result.p for row in rows for each in row.comparisons]))
    for row in rows:
        row.adjusted = [next(corrected) for _ in row.comparisons]
    return rows


def row_of(folder: Path, name: str, *, result: Path | None = None) -> Row:
    """One experiment, its p-values corrected over all experiments of the folder."""
    load_experiment(folder, name)  # says so where there is none
    if result is not None:
        read_result(result)
    table = table_of(folder, instead={} if result is None else {name: result})
    return next(row for row in table if row.name == name)


def _row(loaded: Loaded, result: Mapping[str, Any] | None) -> Row:
    if result is not None and (loaded.experiment.script is None) == ("verdict" in result):
        raise input_error(
            f"{loaded.name}: a result of another kind of experiment",
            got=f"a result of {result['experiment']}",
            allowed="the verdict of its script" if loaded.experiment.script else "runs by arm and seed",
            fix="name its own result, or run it again",
        )
    if result is None or loaded.experiment.script is not None:
        return Row(loaded=loaded, result=result)
    scores = scores_of(loaded, result)
    return Row(
        loaded=loaded,
        result=result,
        scores=scores,
        comparisons=compare(loaded.experiment, scores),
        noise=noise(loaded.experiment, scores),
    )


def described(row: Row) -> str:
    """An experiment for people."""
    experiment = row.loaded.experiment
    lines = [experiment.question, f"claim: {experiment.claim}"]
    if experiment.script is not None:
        lines.append(f"script: {experiment.script}")
        claims = (row.result or {}).get("verdict", {}).get("claims", [])
        lines += [f"  {'yes' if each['holds'] else 'no '}  {each['text']}" for each in claims]
        return "\n".join([*lines, f"verdict: {row.verdict}"])
    measure = experiment.measure
    assert measure is not None, "an experiment with arms"
    for arm, overrides in experiment.arms.items():
        own = ", ".join(f"{key}={value}" for key, value in overrides.items()) or "the recipe as it is"
        found = row.scores.get(arm, {})
        mean = f"   {measure.metric} {_mean(found):.4g} over {len(found)} seeds" if found else ""
        lines.append(f"arm {arm}: {own}{mean}")
    for each in experiment.predictions:
        lines.append(
            f"predicted: {each.arm} is {each.expect} {'as' if each.expect == 'same' else 'than'} {each.than}"
            f", margin {each.margin:g}" + (f", because {each.because}" if each.because else "")
        )
    for each, p in zip(row.comparisons, row.adjusted, strict=True):
        lines.append(f"  {sentence(each, p)}")
    if row.noise is not None:
        lines.append(
            f"noise: differences of an A/A pair have a standard deviation of {row.noise.deviation:.3g}"
        )
    if row.result is not None:
        lines.append(
            f"scale: {row.result['scale']}, {row.result['hardware']}, {row.result['minutes']:.1f} minutes"
        )
    return "\n".join([*lines, f"verdict: {row.verdict}"])


def sentence(comparison: Comparison, p: float) -> str:
    """A comparison with its numbers: positive is better for the arm."""
    result, prediction = comparison.result, comparison.prediction
    return (
        f"{prediction.arm} against {prediction.than}: {result.mean:+.4f} ({result.low:+.4f} to {result.high:+.4f}), "
        f"p {result.p:.2g}, corrected {p:.2g}, {result.count} seeds: {comparison.outcome(p=p)}"
    )


def _mean(scores: Mapping[int, float]) -> float:
    return math.fsum(scores.values()) / len(scores)
