"""TER of a set, by sacreBLEU."""

from collections.abc import Sequence
from typing import Any

from trimtab.metrics.metric import Score, TranslationMetric, check_aligned


def ter(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus TER (Snover et al. 2006): edits and shifts of word groups that make the reference of the translation, for
    a hundred words of the reference; 0 is best, and it may be above 100. Upper and lower case count alike.

    Raises InputError on unequal or empty sets.
    """
    check_aligned(translations, references)
    metric = ter_metric()
    value = metric.corpus_score(translations, [references]).score
    return Score(name="TER", value=value, signature=str(metric.get_signature()))


def ter_metric() -> Any:
    """sacreBLEU's metric."""
    from sacrebleu.metrics.ter import TER as SacreTer

    return SacreTer()


TER = TranslationMetric(
    name="ter",
    label="TER",
    about="edits for a hundred words of the reference; slow for long lines",
    compute=lambda lines: ter(lines.outputs, lines.references),
    sacrebleu_metric=lambda _: ter_metric(),
    lower_is_better=True,
)
