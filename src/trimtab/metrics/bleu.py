"""BLEU of a set, by sacreBLEU, with the signature that makes a number comparable."""

from collections.abc import Sequence
from typing import Any, get_args

from trimtab.errors import input_error
from trimtab.metrics.metric import BleuTokenizer, Score, TranslationMetric, check_aligned


def bleu(translations: Sequence[str], references: Sequence[str], *, tokenize: BleuTokenizer = "13a") -> Score:
    """Corpus BLEU (Papineni et al. 2002; Post 2018, arXiv 1804.08771) against one reference a line.

    Chinese and Japanese need `zh` and `ja-mecab`: the default cuts at spaces, of which they have none. Raises
    InputError on unequal or empty sets and where the tokenizer is not known or not installed.
    """
    check_aligned(translations, references)
    metric = bleu_metric(tokenize)
    value = metric.corpus_score(translations, [references]).score
    return Score(name="BLEU", value=value, signature=str(metric.get_signature()))


def bleu_metric(tokenize: BleuTokenizer) -> Any:
    """sacreBLEU's metric; InputError if the tokenizer is not known or not installed."""
    from sacrebleu.metrics.bleu import BLEU as SacreBleu

    if tokenize not in get_args(BleuTokenizer):
        raise input_error(
            "BLEU tokenizer: unknown", got=repr(tokenize), allowed=", ".join(get_args(BleuTokenizer))
        )
    try:
        return SacreBleu(tokenize=tokenize)
    except (ImportError, RuntimeError) as error:  # sacreBLEU reports a missing tokenizer library as either
        raise input_error(
            f"BLEU tokenizer: {tokenize} needs a library that is not installed",
            got=" ".join(str(error).split()),
            fix=f'`pip install "sacrebleu[{tokenize[:2]}]"`',
        ) from None


BLEU = TranslationMetric(
    name="bleu",
    label="BLEU",
    about="word n-grams up to 4 that the translation shares with the reference, 0 to 100",
    compute=lambda lines: bleu(lines.outputs, lines.references, tokenize=lines.settings.bleu_tokenizer),
    check=lambda settings: bleu_metric(settings.bleu_tokenizer),
    sacrebleu_metric=lambda settings: bleu_metric(settings.bleu_tokenizer),
)
