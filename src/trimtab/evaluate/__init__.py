"""How good a translation is, and whether the model has fallen into repeating itself."""

from trimtab.evaluate.repetition import distinct_outputs, find_collapse, probe_sentences, repeated_4grams
from trimtab.evaluate.report import EvaluationReport, Timing, report_on
from trimtab.evaluate.scores import Score, bleu, chrf

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
