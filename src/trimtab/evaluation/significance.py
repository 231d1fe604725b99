"""Whether one system translates a set better than another: sacreBLEU's paired tests, and what they mean."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trimtab.errors import InputError, input_error
from trimtab.metrics.metric import MetricSettings, TranslationMetric

LEVEL = 0.05
"""A difference whose p-value is smaller is called significant."""
FEW_LINES = 100
"""With fewer lines the tests rarely find anything, and their p-values are rough."""
RESAMPLES, TRIALS = 1000, 10000
"""Of the bootstrap and of the randomization; sacreBLEU's own."""

Conclusion = Literal["better", "worse", "undecided", "identical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A system beside the baseline, by one metric."""

    metric: str
    """Its name in the catalogue."""
    label: str
    value: float
    """Of the system."""
    baseline: float
    """Of the baseline."""
    margin: float
    """Half of the system's 95% confidence interval, by bootstrap resampling."""
    baseline_margin: float
    bootstrap_p: float
    """By paired bootstrap resampling (Koehn 2004, W04-3250)."""
    randomization_p: float
    """By paired approximate randomization (Riezler and Maxwell 2005, W05-0908)."""
    lines: int
    bootstrap_signature: str
    randomization_signature: str
    lower_is_better: bool = False
    identical: bool = False
    """Whether both systems gave the same translations."""

    @property
    def difference(self) -> float:
        """What the system has more than the baseline; negative where it has less."""
        return self.value - self.baseline

    @property
    def conclusion(self) -> Conclusion:
        """What the tests say of the system: `undecided` where they do not agree that the difference is significant."""
        if self.identical:
            return "identical"
        if max(self.bootstrap_p, self.randomization_p) >= LEVEL or self.difference == 0:
            return "undecided"
        return "better" if (self.difference < 0) == self.lower_is_better else "worse"

    def sentence(self, system: str, baseline: str) -> str:
        """What it means, for people."""
        if self.identical:
            return f"{self.label}: {system} and {baseline} give the same translations."
        values = f"{self.value:.1f} against {self.baseline:.1f}"
        tests = f"bootstrap p {_p(self.bootstrap_p)}, randomization p {_p(self.randomization_p)}"
        size = f"{abs(self.difference):.2f}"
        match self.conclusion:
            case "better" | "worse" as which:
                said = f"{self.label}: {system} is {which} than {baseline} by {size} ({values}), and the difference is "
                said += f"significant ({tests}): chance alone gives one as large in fewer than 5 of 100 comparisons."
            case _:
                way = "higher" if self.difference > 0 else "lower"
                said = f"{self.label}: {system} is {size} {way} than {baseline} ({values}), which is not significant "
                if min(self.bootstrap_p, self.randomization_p) < LEVEL:
                    said = said.replace("which is not significant", "and the tests disagree")
                said += f"({tests}): these lines do not show which is better, nor that both are equally good."
        if self.lines < FEW_LINES:
            said += f" The set has only {self.lines:,} lines; compare on several hundred."
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        return {
            "metric": self.metric,
            "value": self.value,
            "baseline": self.baseline,
            "difference": self.difference,
            "margin": self.margin,
            "baseline_margin": self.baseline_margin,
            "bootstrap_p": self.bootstrap_p,
            "randomization_p": self.randomization_p,
            "conclusion": self.conclusion,
            "bootstrap_signature": self.bootstrap_signature,
            "randomization_signature": self.randomization_signature,
        }


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def paired_tests(
    systems: Mapping[str, Sequence[str]],
    *,
    baseline: Sequence[str],
    references: Sequence[str],
    metrics: Sequence[TranslationMetric],
    settings: MetricSettings,
    samples: tuple[int, int] = (RESAMPLES, TRIALS),
) -> dict[str, list[PairedTest]]:
    """Each system beside the baseline by each metric, by sacreBLEU's paired tests, on translations of the same lines.

    `samples` are the numbers of resamples and trials. sacreBLEU's random numbers begin with the seed 12345, or with
    that of the environment variable SACREBLEU_SEED. Where the scores are equal in every trial sacreBLEU counts none as
    larger, which would give identical systems the smallest p-value; they get 1. Raises InputError for a metric that is
    not sacreBLEU's.
    """
    for metric in metrics:
        if metric.sacrebleu_metric is None:
            raise no_test(metric)
    named = [("", list(baseline)), *((name, list(outputs)) for name, outputs in systems.items())]
    tests = {
        kind: _run(named, references, metrics, settings, kind=kind, count=count)
        for kind, count in zip(("bs", "ar"), samples, strict=True)
    }
    found: dict[str, list[PairedTest]] = {name: [] for name in systems}
    for place, metric in enumerate(metrics):
        (mark, (base, *others)), (other_mark, (_, *trials)) = (tests[kind][place] for kind in ("bs", "ar"))
        for name, sampled, tried in zip(systems, others, trials, strict=True):
            found[name].append(
                PairedTest(
                    metric=metric.name,
                    label=metric.label,
                    value=float(sampled.score),
                    baseline=float(base.score),
                    margin=float(sampled.ci),
                    baseline_margin=float(base.ci),
                    bootstrap_p=1.0 if sampled.score == base.score else float(sampled.p_value),
                    randomization_p=1.0 if tried.score == base.score else float(tried.p_value),
                    lines=len(references),
                    bootstrap_signature=mark,
                    randomization_signature=other_mark,
                    lower_is_better=metric.lower_is_better,
                    identical=list(systems[name]) == list(baseline),
                )
            )
    return found


def _run(
    named: list[tuple[str, list[str]]],
    references: Sequence[str],
    metrics: Sequence[TranslationMetric],
    settings: MetricSettings,
    *,
    kind: str,
    count: int,
) -> list[tuple[str, list[Any]]]:
    """sacreBLEU's test of one kind: for each metric its signature and the results, the baseline's first."""
    from sacrebleu.significance import PairedTest as SacrePairedTest

    made = {
        metric.name: metric.sacrebleu_metric(settings)
        for metric in metrics
        if metric.sacrebleu_metric is not None
    }
    # One process: others would be forks of one that has run torch.
    test = SacrePairedTest(named, made, [list(references)], test_type=kind, n_samples=count, n_jobs=1)
    signatures, scores = test()
    names = [name for name in scores if name != "System"]
    return [(signatures[name].format(), list(scores[name])) for name in names]


def no_test(metric: TranslationMetric) -> InputError:
    """The error for a metric that sacreBLEU does not compute."""
    return input_error(
        f"{metric.label}: there is no paired test of this metric",
        got=metric.name,
        allowed="metrics of sacreBLEU: bleu, chrf, chrfpp, ter",
        fix="leave it out, or compare without --against",
    )


def interval(value: float, margin: float | None, *, digits: int) -> str:
    """`31.4 ± 0.9`, or the value alone."""
    text = f"{value:.{digits}f}"
    return text if margin is None or math.isnan(margin) else f"{text} ± {margin:.{digits}f}"
