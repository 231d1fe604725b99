"""chrF and chrF++ of a set, by sacreBLEU."""

from collections.abc import Sequence
from typing import Any

from trimtab.metrics.metric import Score, TranslationMetric, check_aligned

WORD_ORDER = 2
"""Longest word n-grams of chrF++; chrF has none."""


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2 (Popović 2015, W15-3049): character n-grams up to 6, recall twice as heavy as precision.

    Raises InputError on unequal or empty sets.
    """
    return _score("chrF", chrf_metric(), translations, references)


def chrfpp(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF++ (Popović 2017, W17-4770): chrF with words and pairs of words beside the character n-grams, which
    agrees better with people's judgements of whole sentences.

    Raises InputError on unequal or empty sets.
    """
    return _score("chrF++", chrf_metric(WORD_ORDER), translations, references)


def chrf_metric(word_order: int = 0) -> Any:
    """sacreBLEU's metric."""
    from sacrebleu.metrics.chrf import CHRF as SacreChrf

    return SacreChrf(word_order=word_order)


def _score(name: str, metric: Any, translations: Sequence[str], references: Sequence[str]) -> Score:
    check_aligned(translations, references)
    value = metric.corpus_score(translations, [references]).score
    return Score(name=name, value=value, signature=str(metric.get_signature()))


CHRF = TranslationMetric(
    name="chrf",
    label="chrF",
    about="character n-grams up to 6 that the translation shares with the reference, 0 to 100",
    compute=lambda lines: chrf(lines.outputs, lines.references),
    sacrebleu_metric=lambda _: chrf_metric(),
)
CHRFPP = TranslationMetric(
    name="chrfpp",
    label="chrF++",
    about="chrF with words and pairs of words beside the character n-grams, 0 to 100",
    compute=lambda lines: chrfpp(lines.outputs, lines.references),
    sacrebleu_metric=lambda _: chrf_metric(WORD_ORDER),
)
