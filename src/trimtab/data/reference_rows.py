"""Pairs of text as the rows by which a model says how likely the target is after the source."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.data.exact_text import ExactText
from trimtab.data.text_rows import no_source, pair_rows
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.types import Ragged


@dataclass(frozen=True, slots=True)
class ReferenceRows:
    """One row for each pair."""

    source: Ragged
    target: Ragged
    prompt: np.ndarray
    """How many leading target tokens of each row are given and do not count, int32."""
    source_tokens: np.ndarray
    """Tokens of each source, int64, with tags and with the end symbol or the separator."""
    max_tokens: int
    """Longer rows cannot be read."""

    @property
    def target_tokens(self) -> np.ndarray:
        """Tokens of each target that count, end symbol included; int64."""
        return self.target.lengths - self.prompt

    @property
    def fits(self) -> np.ndarray:
        """The numbers of those that can be read."""
        return np.flatnonzero(np.maximum(self.source.lengths, self.target.lengths) <= self.max_tokens)


def reference_rows(
    recipe: Recipe,
    tokenizers: Tokenizers,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    tags: Sequence[str],
) -> ReferenceRows:
    """Both sides as in training, in two streams, or in one where the model has no encoder; `tags` come before every
    source. InputError for a tag, or a language model of documents, that the vocabulary has no symbol for."""
    data, max_tokens = recipe.data, recipe.data.max_tokens
    pipeline = build_transforms(data.transforms, columns=data.factor_columns)
    read = [pipeline.apply_source(source) for source in sources]
    written = [pipeline.apply_reference(*pair) for pair in zip(sources, targets, strict=True)]
    if not recipe.facts.one_row:
        source = Ragged.of(tokenizers.source.encode_with_tags(read, tags))
        target = Ragged.of(tokenizers.target.encode(written))
        return ReferenceRows(source, target, np.zeros(len(target), np.int32), source.lengths, max_tokens)
    made = {"tokenizer": ExactText(tokenizers.target), "separator": tokenizers.target.id(SEPARATOR)}
    rows = pair_rows([(pair, tags) for pair in zip(read, written, strict=True)], **made)
    prompt = np.array([row.prompt for row in rows], np.int32)
    target = Ragged.of([row.ids for row in rows])
    return ReferenceRows(no_source(len(rows)), target, prompt, prompt.astype(np.int64), max_tokens)
