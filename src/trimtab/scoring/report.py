"""What an evaluation says, as an object, as JSON and as a small table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.scoring.measures import Measures
from trimtab.scoring.repetition import distinct_outputs, repeated_4grams
from trimtab.scoring.scores import Score, bleu, chrf

DEFAULT = Measures()


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
    """Nats per target token of the references, without smoothing; None where it was not measured."""
    repeated_4grams: float
    """Share of 4-grams that stood in the same line before."""
    distinct_outputs: float
    """Share of different translations among different sources."""
    seconds: float
    """Spent translating."""
    tokens_per_second: float
    """Source and target tokens translated in a second."""
    more: tuple[Score, ...] = ()
    """What was asked for besides, such as TER and COMET."""

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
        values = {each.name.lower(): _number(each.value) for each in self.more}
        return values | {f"{each.name.lower()}_signature": each.signature for each in self.more}

    def render(self) -> str:
        """A table for people, one value a line, no line break at its end."""
        rows = [
            ("lines", f"{self.lines:,}", ""),
            ("BLEU", f"{self.bleu.value:.1f}", self.bleu.signature),
            ("chrF", f"{self.chrf.value:.1f}", self.chrf.signature),
            *((each.name, f"{each.value:.{each.digits}f}", each.signature) for each in self.more),
            ("loss", "-" if self.loss is None else f"{self.loss:.3f}", "nats per target token"),
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
    measures: Measures = DEFAULT,
    gpus: int = 0,
) -> EvaluationReport:
    """Scores translations against references and sources of the same lines.

    `gpus` is how many COMET may use. Raises InputError on unequal or empty sets.
    """
    return EvaluationReport(
        lines=len(translations),
        bleu=bleu(translations, references, tokenize=measures.bleu_tokenizer),
        chrf=chrf(translations, references),
        loss=loss,
        repeated_4grams=repeated_4grams(translations),
        distinct_outputs=distinct_outputs(sources, translations),
        seconds=timing.seconds,
        tokens_per_second=timing.num_tokens / timing.seconds if timing.seconds > 0 else 0.0,
        more=tuple(measures.more(translations, sources=sources, references=references, gpus=gpus)),
    )


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
