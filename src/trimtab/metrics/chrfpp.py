"""chrF++ of a set, by sacreBLEU."""

from collections.abc import Sequence
from typing import Any

from trimtab.metrics.metric import Score, TranslationMetric, check_aligned

WORD_ORDER = 2
"""Longest word n-grams."""


def chrfpp(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF++ (Popović 2017, W17-4770): chrF with words and pairs of words beside the character n-grams, which
    agrees better with people's judgements of whole sentences.

    Raises InputError on unequal or empty sets.
    """
    check_aligned(translations, references)
    metric = chrfpp_metric()
    value = metric.corpus_score(translations, [references]).score
    return Score(name="chrF++", value=value, signature=str(metric.get_signature()))


def chrfpp_metric() -> Any:
    """sacreBLEU's metric."""
    from sacrebleu.metrics.chrf import CHRF as SacreChrf

    return SacreChrf(word_order=WORD_ORDER)


CHRFPP = TranslationMetric(
    name="chrfpp",
    label="chrF++",
    about="chrF with words and pairs of words beside the character n-grams, 0 to 100",
    compute=lambda lines: chrfpp(lines.outputs, lines.references),
    sacrebleu_metric=lambda _: chrfpp_metric(),
)
