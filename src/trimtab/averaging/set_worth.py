"""What a model is worth on one validation set: its loss, and what follows from it where it is a language model."""

from dataclasses import dataclass, field

import numpy as np

from trimtab.data.corpus import Corpus
from trimtab.data.reference_rows import reference_rows
from trimtab.evaluation.texts import report_on_corpus
from trimtab.evaluation.translations import reference_loss
from trimtab.metrics.catalogue import text_scores
from trimtab.translator import LoadedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class SetWorth:
    """Of one set."""

    loss: float | None
    """Nats per target token; None where no pair of it fits."""
    perplexities: dict[str, float] = field(default_factory=dict[str, float])
    """`perplexity`, `byte_perplexity` and `bits_per_byte` of a language model; empty for others."""


def set_worth(model: LoadedModel, corpus: Corpus) -> SetWorth:
    """Measured as a run does it while it trains: documents whole, pairs those that fit."""
    return _of_documents(model, corpus) if corpus.has_documents else _of_pairs(model, corpus)


def _of_documents(model: LoadedModel, corpus: Corpus) -> SetWorth:
    found = report_on_corpus(model, corpus)
    return SetWorth(
        loss=found.loss,
        perplexities=found.scores,
    )


def _of_pairs(model: LoadedModel, corpus: Corpus) -> SetWorth:
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    loss = reference_loss(model, sources, references, tags=corpus.tags)
    if loss is None or not model.recipe.is_language_model:
        return SetWorth(loss=loss)
    rows = reference_rows(model.recipe, model.tokenizers, sources, references, tags=corpus.tags)
    sizes = np.array([len(reference.encode()) for reference in references])
    tokens, size = int(rows.target_tokens[rows.fits].sum()), int(sizes[rows.fits].sum())
    return SetWorth(loss=loss, perplexities=text_scores(loss, num_targets=tokens, num_bytes=size))
