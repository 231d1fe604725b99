"""How text becomes ids."""

from typing import Annotated, Literal

from pydantic import Field

from trimtab.config.sampling import Sampling
from trimtab.config.settings import Settings


class SentencePieceTokenizer(Settings):
    """A sentencepiece model, trained on the training corpora when the run begins, or one given by `path`."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    model: Literal["unigram", "bpe"] = "unigram"
    """How pieces are chosen: Kudo 2018 (arXiv 1804.10959) or Sennrich et al. 2016 (arXiv 1508.07909)."""
    vocabulary_size: int = Field(default=16000, ge=64, le=1_000_000)
    """Pieces in the vocabulary, special symbols included. Where it is not written and the text holds fewer different
    pieces, it is as many as it holds."""
    character_coverage: float = Field(default=0.9995, gt=0.9, le=1.0)
    """Share of characters that get a piece of their own."""
    byte_fallback: bool = True
    """Spell what has no piece in bytes, so that nothing is ever unknown (256 pieces)."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """How sentencepiece itself normalises text; it is stored with the model and also applied when translating. For
    `task: language_model` it is `identity`, so that a text comes back as it was."""
    training_lines: int = Field(default=2_000_000, ge=1)
    """At most so many lines, spread evenly over the corpora, are read to train the model."""
    path: str | None = None
    """A trained sentencepiece model to use instead; its size must be `vocabulary_size` where both are written."""
    sampling: Sampling | None = None
    """Split each line in another way each time it is seen, which helps where there is little text:
    `{kind: subword_regularization, alpha: 0.1}` or `{kind: bpe_dropout, dropout: 0.1}`. Never in validation or
    translation; `max_tokens` counts what was drawn."""


class ByteTokenizer(Settings):
    """The bytes of UTF-8 as they are: 256 ids and those of the symbols. Nothing is trained and nothing is unknown; rows
    are about four times as long as those of sentencepiece. For language models."""

    kind: Literal["bytes"] = "bytes"


Tokenizer = Annotated[SentencePieceTokenizer | ByteTokenizer, Field(discriminator="kind")]
