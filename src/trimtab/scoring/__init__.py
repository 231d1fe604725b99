"""How good a translation is, and whether the model has fallen into repeating itself."""

from trimtab.scoring.repetition import distinct_outputs, find_collapse, probe_sentences, repeated_4grams
from trimtab.scoring.report import EvaluationReport, Timing, report_on
from trimtab.scoring.scores import Score, bleu, chrf

__all__ = [
    "EvaluationReport",
    "Score",
    "Timing",
    "bleu",
    "chrf",
    "distinct_outputs",
    "find_collapse",
    "probe_sentences",
    "repeated_4grams",
    "report_on",
]
