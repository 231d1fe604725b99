"""The result of an evaluation, as an object, as JSON and as a small table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trimtab.evaluation.repetition import distinct_outputs, repeated_4grams
from trimtab.metrics.bleu import BLEU
from trimtab.metrics.catalogue import OF_TRANSLATIONS, ON_REQUEST
from trimtab.metrics.chrf import CHRF
from trimtab.metrics.loss import LOSS
from trimtab.metrics.metric import MetricSettings, Score, TranslationMetric, Translations

ALWAYS = (BLEU, CHRF)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedMetrics:
    """Which metrics of translations an evaluation gives beside BLEU and chrF, and their settings."""

    names: tuple[str, ...] = ()
    """Such as `ter`; the order does not matter."""
    settings: MetricSettings = field(default_factory=MetricSettings)

    @property
    def more(self) -> tuple[TranslationMetric, ...]:
        """Those beside BLEU and chrF, in the order of the catalogue."""
        known = (*OF_TRANSLATIONS.values(), *ON_REQUEST)
        return tuple(metric for metric in known if metric.name in self.names and metric not in ALWAYS)

    def check(self) -> None:
        """InputError if a library is missing: before the work."""
        for metric in (*ALWAYS, *self.more):
            metric.check(self.settings)


BLEU_AND_CHRF = RequestedMetrics()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long the translation took, and how much it was."""

    seconds: float
    num_tokens: int
    """Source and target tokens, end symbols included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """How well a set is translated."""

    lines: int
    bleu: Score
    chrf: Score
    loss: float | None
    """Nats per target token of the references, without smoothing; None if it was not measured."""
    repeated_4grams: float
    """Share of 4-grams that repeat one earlier in the line."""
    distinct_outputs: float
    """Share of different translations among different sources."""
    seconds: float
    """Spent translating."""
    tokens_per_second: float
    """Source and target tokens translated in a second."""
    more: dict[str, Score] = field(default_factory=dict[str, Score])
    """What was asked for besides, such as TER and COMET, by the metric's name."""

    def __repr__(self) -> str:
        scores = [
            f"{each.name} {each.value:.{each.digits}f}"
            for each in (self.bleu, self.chrf, *self.more.values())
        ]
        loss = [] if self.loss is None else [f"loss {self.loss:.4g}"]
        return f"EvaluationReport({', '.join([f'{self.lines} lines', *scores, *loss])})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has; a number that is not finite becomes null."""
        return {
            "lines": self.lines,
            "bleu": _number(self.bleu.value),
            "bleu_signature": self.bleu.signature,
            "chrf": _number(self.chrf.value),
            "chrf_signature": self.chrf.signature,
            **self._more(),
            "loss": _number(self.loss),
            "repeated_4grams": _number(self.repeated_4grams),
            "distinct_outputs": _number(self.distinct_outputs),
            "seconds": _number(self.seconds),
            "tokens_per_second": _number(self.tokens_per_second),
        }

    def _more(self) -> dict[str, Any]:
        values = {name: _number(each.value) for name, each in self.more.items()}
        return values | {f"{name}_signature": each.signature for name, each in self.more.items()}

    def render(self) -> str:
        """A table for people, one value a line, no line break at its end."""
        rows = [
            ("lines", f"{self.lines:,}", ""),
            *(
                (each.name, f"{each.value:.{each.digits}f}", each.signature)
                for each in (self.bleu, self.chrf, *self.more.values())
            ),
            (
                LOSS.label,
                "-" if self.loss is None else f"{self.loss:.{LOSS.digits}f}",
                "nats per target token",
            ),
            ("repeated 4-grams", f"{self.repeated_4grams:.1%}", "of all 4-grams, within a line"),
            ("distinct outputs", f"{self.distinct_outputs:.1%}", "of the distinct sources"),
            ("seconds", f"{self.seconds:.1f}", "translating"),
            ("tokens/s", f"{self.tokens_per_second:,.0f}", "source and target"),
        ]
        return "\n".join(f"{name:<18}{value:>10}  {note}".rstrip() for name, value, note in rows)


def report_on(
    translations: Sequence[str],
    *,
    sources: Sequence[str],
    references: Sequence[str],
    timing: Timing,
    loss: float | None = None,
    metrics: RequestedMetrics = BLEU_AND_CHRF,
    gpus: int = 0,
) -> EvaluationReport:
    """Scores translations against references and sources of the same lines.

    `gpus` is how many COMET may use. Raises InputError on unequal or empty sets.
    """
    lines = Translations(
        outputs=translations,
        references=references,
        sources=sources,
        settings=replace(metrics.settings, gpus=gpus),
    )
    return EvaluationReport(
        lines=len(translations),
        bleu=BLEU.compute(lines),
        chrf=CHRF.compute(lines),
        loss=loss,
        repeated_4grams=repeated_4grams(translations),
        distinct_outputs=distinct_outputs(sources, translations),
        seconds=timing.seconds,
        tokens_per_second=timing.num_tokens / timing.seconds if timing.seconds > 0 else 0.0,
        more={metric.name: metric.compute(lines) for metric in metrics.more},
    )


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
