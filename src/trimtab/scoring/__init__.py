"""How good a translation is, and whether the model has fallen into repeating itself."""

from trimtab.scoring.comet import comet_score
from trimtab.scoring.measures import Measures
from trimtab.scoring.repetition import distinct_outputs, find_collapse, probe_sentences, repeated_4grams
from trimtab.scoring.report import EvaluationReport, Timing, report_on
from trimtab.scoring.scores import Score, bleu, chrf, ter

__all__ = [
    "EvaluationReport",
    "Measures",
    "Score",
    "Timing",
    "bleu",
    "chrf",
    "comet_score",
    "distinct_outputs",
    "find_collapse",
    "probe_sentences",
    "repeated_4grams",
    "report_on",
    "ter",
]
