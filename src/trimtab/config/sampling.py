"""Random segmentation of a line into pieces, in training only."""

from typing import Annotated, Literal

from pydantic import Field

from trimtab.config.settings import Settings

Sides = Literal["source", "target", "both"]


class SubwordRegularization(Settings):
    """Samples one of the possible splits each time a line is seen; for unigram models (Kudo 2018, arXiv 1804.10959)."""

    kind: Literal["subword_regularization"] = "subword_regularization"
    alpha: float = Field(default=0.1, gt=0, le=100)
    """How strongly likely splits are preferred: splits are sampled by their probability to this power."""
    nbest: Annotated[int, Field(ge=2, le=1024)] | Literal["all"] = "all"
    """Sample from this many of the best splits (2 to 1,024), or from all."""
    sides: Sides = "both"
    """Which sides are split randomly; with a `source_tokenizer`, set it in each tokenizer for its own side."""


class BpeDropout(Settings):
    """Skips some of the merges each time a line is seen; for bpe models (Provilkov et al. 2020, arXiv 1910.13267), as
    in sentencepiece: a skipped merge is not tried again."""

    kind: Literal["bpe_dropout"] = "bpe_dropout"
    dropout: float = Field(default=0.1, ge=0, le=1)
    """Share of merges to skip."""
    sides: Sides = "both"
    """Which sides are split randomly; with a `source_tokenizer`, set it in each tokenizer for its own side."""


Sampling = Annotated[SubwordRegularization | BpeDropout, Field(discriminator="kind")]
