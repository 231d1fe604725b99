"""How text becomes ids."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trimtab.config.sampling import Sampling
from trimtab.config.settings import Settings

SMALLEST_VOCABULARY = 6
"""Four special symbols, the word boundary and a letter: a text of little variety may hold no more pieces."""

SMALLEST_BYTE_LEVEL = 300
"""256 bytes, four special symbols, and some tags or merges."""


class SentencePieceTokenizer(Settings):
    """A sentencepiece model, trained on the training corpora when the run begins, or loaded from `path`."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    model: Literal["unigram", "bpe"] = "unigram"
    """The algorithm: unigram (Kudo 2018, arXiv 1804.10959) or BPE (Sennrich et al. 2016, arXiv 1508.07909)."""
    vocabulary_size: int = Field(default=16000, ge=SMALLEST_VOCABULARY, le=1_000_000)
    """Pieces in the vocabulary, special symbols included. If it is not set and the text contains fewer different
    pieces, the vocabulary shrinks to that number."""
    character_coverage: float = Field(default=0.9995, gt=0.9, le=1.0)
    """Share of characters that get a piece of their own."""
    byte_fallback: bool = True
    """Encode characters without a piece as bytes, so that nothing is ever unknown (256 pieces)."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """How sentencepiece itself normalizes text; it is stored with the model and also applied when translating. For
    `task: language_model` it is `identity`, so that text round-trips exactly."""
    training_lines: int = Field(default=2_000_000, ge=1)
    """Maximum number of lines to train the tokenizer on, spread evenly over the corpora."""
    path: str | None = None
    """A trained sentencepiece model to use instead; if `vocabulary_size` is also set, it must match."""
    sampling: Sampling | None = None
    """Split each line differently each time it is seen, which helps with little text: `{kind: subword_regularization,
    alpha: 0.1}` or `{kind: bpe_dropout, dropout: 0.1}`. Never applied in validation or translation; `max_tokens`
    applies to the sampled split."""


Normalization = Literal["identity", "nfc", "nfkc"]


class ByteLevelBpeTokenizer(Settings):
    """Byte-level BPE, as GPT-2 and most language models have it: nothing is ever unknown, and texts come back as they
    were. Trained on the training corpora when the run begins, or loaded from `path`."""

    sampling: ClassVar[None] = None
    """Each line is split by the merges in their order."""
    kind: Literal["byte_level_bpe"] = "byte_level_bpe"
    vocabulary_size: int = Field(default=16000, ge=SMALLEST_BYTE_LEVEL, le=1_000_000)
    """Pieces in the vocabulary, special symbols and the 256 bytes included. If it is not set and the text contains
    fewer different pieces, the vocabulary shrinks to that number."""
    normalization: Normalization = "identity"
    """Unicode form that texts are brought into before they are split: `identity` leaves them as they are."""
    training_lines: int = Field(default=2_000_000, ge=1)
    """Maximum number of lines to train the tokenizer on, spread evenly over the corpora."""
    path: str | None = None
    """A folder that `trimtab tokenizer train` wrote, or the `tokenizer` of a run, to use instead."""


class SuperBpeTokenizer(Settings):
    """Byte-level BPE whose last pieces go across spaces, such as `Ġof the` (SuperBPE, Liu et al. 2025, arXiv
    2503.13423): fewer tokens for the same text, so training and decoding are faster. Compare it with other tokenizers
    by chrF and bits per byte; a loss per token says nothing, since tokens differ. Texts come back as they were."""

    sampling: ClassVar[None] = None
    """Each line is split by the merges in their order."""
    kind: Literal["superbpe"] = "superbpe"
    vocabulary_size: int = Field(default=16000, ge=SMALLEST_BYTE_LEVEL, le=1_000_000)
    """Pieces in the vocabulary, special symbols and the 256 bytes included. If it is not set and the text contains
    fewer different pieces, the vocabulary shrinks to that number."""
    transition_size: int | None = Field(default=None, ge=SMALLEST_BYTE_LEVEL, le=1_000_000)
    """Size of the vocabulary at which merges may begin to go across spaces; by default half of `vocabulary_size`. The
    paper's models are best at nine tenths, and its texts shortest at less than half."""
    longest_superword: int = Field(default=4, ge=2, le=64)
    """Words of a piece at most."""
    normalization: Normalization = "identity"
    """Unicode form that texts are brought into before they are split: `identity` leaves them as they are."""
    training_lines: int = Field(default=2_000_000, ge=1)
    """Maximum number of lines to train the tokenizer on, spread evenly over the corpora. Training takes about 30 bytes
    of memory for each byte of text."""
    path: str | None = None
    """A folder that `trimtab tokenizer train` wrote, or the `tokenizer` of a run, to use instead."""


class ByteTokenizer(Settings):
    """The bytes of UTF-8: 256 ids plus special symbols. There is nothing to train and nothing is unknown; rows are
    about four times as long as with sentencepiece. For language models."""

    kind: Literal["bytes"] = "bytes"


class PretrainedTokenizer(Settings):
    """The tokenizer of a pretrained model: tokenizer.json, or the sentencepiece models and vocab.json of Marian and
    M2M100, of a folder in the form of Hugging Face; or that of a GGUF file. A pretrained model brings its own; with
    `path` written, any language model trains with it."""

    sampling: ClassVar[None] = None
    """Each line is split as the pretraining split it."""
    kind: Literal["pretrained"] = "pretrained"
    path: str
    """The folder with tokenizer.json, a .gguf file, or `OWNER/NAME` of the hub, downloaded before."""
    vocabulary_size: int | None = Field(default=None, ge=1, le=10_000_000)
    """Ids of the vocabulary, where a model has more rows than its tokenizer has pieces; by default as many as there are
    pieces. A pretrained model fills in its own."""
    source_language: str | None = None
    """For translation: the language that is read, as the model spells it: `eng_Latn` for NLLB, `en` for M2M100, `en_XX`
    for mBART. Other families need none."""
    target_language: str | None = None
    """The language that is written, spelled likewise. Marian models of several target languages (`deu`) and MADLAD
    (`de`) read it as `>>deu<<` and `<2de>` before each source."""
    source_prefix: str = ""
    """For translation: text before each source, such as `"translate English to German: "` for T5."""


ByteLevel = ByteLevelBpeTokenizer | SuperBpeTokenizer
"""Vocabularies of merged bytes."""
Tokenizer = Annotated[
    SentencePieceTokenizer | ByteTokenizer | ByteLevelBpeTokenizer | SuperBpeTokenizer | PretrainedTokenizer,
    Field(discriminator="kind"),
]
