"""chrF of a set, by sacreBLEU."""

from collections.abc import Sequence
from typing import Any

from trimtab.metrics.metric import Score, TranslationMetric, check_aligned


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2 (Popović 2015, W15-3049): character n-grams up to 6, recall twice as heavy as precision.

    Raises InputError on unequal or empty sets.
    """
    check_aligned(translations, references)
    metric = chrf_metric()
    value = metric.corpus_score(translations, [references]).score
    return Score(name="chrF", value=value, signature=str(metric.get_signature()))


def chrf_metric() -> Any:
    """sacreBLEU's metric."""
    from sacrebleu.metrics.chrf import CHRF as SacreChrf

    return SacreChrf()


CHRF = TranslationMetric(
    name="chrf",
    label="chrF",
    about="character n-grams up to 6 that the translation shares with the reference, 0 to 100",
    compute=lambda lines: chrf(lines.outputs, lines.references),
    sacrebleu_metric=lambda _: chrf_metric(),
)
