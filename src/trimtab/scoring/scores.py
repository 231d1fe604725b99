"""BLEU, chrF and TER of a set, by sacreBLEU, with the signature that makes a number comparable."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from trimtab.config.bleu import BleuTokenizer
from trimtab.errors import input_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number with its name and how it was computed."""

    name: str
    value: float
    """BLEU and chrF: 0 to 100, larger is better. TER: edits for a hundred words of the reference, smaller is better.
    COMET: about 0 to 1, larger is better."""
    signature: str
    digits: int = 1
    """Behind the point, where people read it."""


def bleu(translations: Sequence[str], references: Sequence[str], *, tokenize: BleuTokenizer = "13a") -> Score:
    """Corpus BLEU (Papineni et al. 2002; Post 2018, arXiv 1804.08771) against one reference a line.

    Chinese and Japanese need `zh` and `ja-mecab`: the default cuts at spaces, of which they have none. Raises
    InputError on unequal or empty sets and where the tokenizer is not known or not installed.
    """
    check_aligned(translations, references)
    metric = bleu_metric(tokenize)
    value = metric.corpus_score(translations, [references]).score
    return Score(name="BLEU", value=value, signature=str(metric.get_signature()))


def bleu_metric(tokenize: BleuTokenizer) -> BLEU:
    """sacreBLEU's metric; InputError where the tokenizer is not known or not installed."""
    if tokenize not in get_args(BleuTokenizer):
        raise input_error(
            "BLEU tokenizer: not known", got=repr(tokenize), allowed=", ".join(get_args(BleuTokenizer))
        )
    try:
        return BLEU(tokenize=tokenize)
    except (ImportError, RuntimeError) as error:  # sacreBLEU reports a missing tokenizer library as either
        raise input_error(
            f"BLEU tokenizer: {tokenize} needs a library that is not installed",
            got=" ".join(str(error).split()),
            fix=f'`pip install "sacrebleu[{tokenize[:2]}]"`',
        ) from None


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2 (Popović 2015, W15-3049): character n-grams up to 6, recall twice as heavy as precision.

    Raises InputError on unequal or empty sets.
    """
    check_aligned(translations, references)
    metric = CHRF()
    value = metric.corpus_score(translations, [references]).score
    return Score(name="chrF", value=value, signature=str(metric.get_signature()))


def ter(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus TER (Snover et al. 2006): edits and shifts of word groups that make the reference of the translation, for
    a hundred words of the reference; 0 is best, and it may be above 100. Upper and lower case count alike.

    Raises InputError on unequal or empty sets.
    """
    check_aligned(translations, references)
    metric = TER()
    value = metric.corpus_score(translations, [references]).score
    return Score(name="TER", value=value, signature=str(metric.get_signature()))


def check_aligned(translations: Sequence[str], references: Sequence[str]) -> None:
    """Raises InputError on sets that are unequal or empty."""
    if len(translations) != len(references):
        raise input_error(
            "references: not as many lines as translations",
            got=f"{len(translations)} translations and {len(references)} references",
            allowed="one reference for each line",
            fix="check that both files come from the same set and that none was cut or filtered alone",
        )
    if not references:
        raise input_error("references: the set is empty", got="0 lines", allowed="at least one line")
