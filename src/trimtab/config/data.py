"""What a run reads: corpora, tokenizer, transforms, limits."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from trimtab.config.bleu import BleuTokenizer
from trimtab.config.settings import Settings


class ParallelFiles(Settings):
    """Two aligned text files (plain, .gz or .xz), or one TSV or JSONL file of pairs."""

    source: str | int
    """Path of the source text; with `pairs`, the column's name or number (counted from 1)."""
    target: str | int
    """Path of the target text; with `pairs`, the column's name or number (counted from 1)."""
    pairs: str | None = None
    """Path of a .tsv or .jsonl file (also .gz, .xz) that holds both sides. Column names in a TSV are read from its
    first line; with column numbers it has no such line."""
    name: str = ""
    """What the ledger and the reports call this corpus; by default made from the path."""
    tags: tuple[str, ...] = ()
    """Symbols put before each source line, such as `<ui>`; each becomes one piece of the vocabulary."""

    @model_validator(mode="after")
    def _paths_or_columns(self) -> "ParallelFiles":
        if self.pairs is None:
            for side in ("source", "target"):
                if not isinstance(getattr(self, side), str):
                    raise ValueError(f"{side}: a number, which names a column, but there is no `pairs` file")
        else:
            for side in ("source", "target"):
                column = getattr(self, side)
                if isinstance(column, int) and column < 1:
                    raise ValueError(f"{side}: got column {column}; columns are counted from 1")
        empty = [side for side in ("source", "target", "pairs") if getattr(self, side) == ""]
        if empty:
            raise ValueError(f"{empty[0]}: is empty")
        if any(not is_tag(tag) for tag in self.tags):
            raise ValueError(
                f"tags: got {list(self.tags)!r}; a tag is one word without spaces, such as '<ui>'"
            )
        return self


class TrainCorpus(ParallelFiles):
    """A corpus to train on."""

    weight: float = Field(default=1.0, gt=0, le=1000)
    """Times the corpus's natural sampling rate: 2 shows each line twice an epoch. Never touches the loss."""
    both_directions: bool = False
    """Train from target to source as well, on the same files; then `tags` and `reverse_tags` say which way."""
    reverse_tags: tuple[str, ...] = ()
    """Symbols put before each target line where it is read as a source: `tags: [<2de>], reverse_tags: [<2en>]`."""

    @model_validator(mode="after")
    def _directions_told_apart(self) -> "TrainCorpus":
        if self.both_directions and self.tags == self.reverse_tags:
            raise ValueError(
                f"reverse_tags: got {list(self.reverse_tags)!r}, the same as tags; with both_directions the model must "
                "be told which way to translate, as in tags: ['<2de>'], reverse_tags: ['<2en>']"
            )
        if self.reverse_tags and not self.both_directions:
            raise ValueError("reverse_tags: written, but both_directions is false")
        if any(not is_tag(tag) for tag in self.reverse_tags):
            raise ValueError(
                f"reverse_tags: got {list(self.reverse_tags)!r}; a tag is one word without spaces, such as '<2en>'"
            )
        return self


class ValidFiles(ParallelFiles):
    """A validation set."""

    bleu_tokenizer: BleuTokenizer = "13a"
    """How sacreBLEU cuts words: languages without spaces need char, zh or ja-mecab."""


class SentencePieceTokenizer(Settings):
    """A sentencepiece model, trained on the training corpora when the run begins, or one given by `path`."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    model: Literal["unigram", "bpe"] = "unigram"
    """How pieces are chosen: Kudo 2018 (arXiv 1804.10959) or Sennrich et al. 2016 (arXiv 1508.07909)."""
    vocabulary_size: int = Field(default=16000, ge=64, le=1_000_000)
    """Pieces in the shared vocabulary, special symbols included."""
    character_coverage: float = Field(default=0.9995, gt=0.9, le=1.0)
    """Share of characters that get a piece of their own."""
    byte_fallback: bool = True
    """Spell what has no piece in bytes, so that nothing is ever unknown (256 pieces)."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """How sentencepiece itself normalises text; it is stored with the model and also applied when translating."""
    training_lines: int = Field(default=2_000_000, ge=1)
    """At most so many lines, spread evenly over the corpora, are read to train the model."""
    path: str | None = None
    """A trained sentencepiece model to use instead; its size must be `vocabulary_size` where both are written."""


class NormalizeTransform(Settings):
    """Unicode form, white space joined and stripped, control characters removed."""

    kind: Literal["normalize"] = "normalize"
    form: Literal["nfc", "nfkc", "none"] = "nfc"


class LengthFilter(Settings):
    """Drops pairs with a side outside a range of words or characters."""

    kind: Literal["length"] = "length"
    unit: Literal["words", "characters"] = "words"
    min: int = Field(default=1, ge=0)
    max: int = Field(default=200, ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> "LengthFilter":
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, greater than max, {self.max}")
        return self


class RatioFilter(Settings):
    """Drops pairs whose longer side has more than `max` times the characters of the shorter one."""

    kind: Literal["ratio"] = "ratio"
    max: float = Field(default=4.0, gt=1.0)
    min_characters: int = Field(default=20, ge=0)
    """Pairs with no side longer than this are kept, since short strings vary."""


class CharacterRunFilter(Settings):
    """Drops pairs in which one character repeats more than `max` times in a row."""

    kind: Literal["character_run"] = "character_run"
    max: int = Field(default=16, ge=1)


Transform = Annotated[
    NormalizeTransform | LengthFilter | RatioFilter | CharacterRunFilter, Field(discriminator="kind")
]


class DataConfig(Settings):
    """What the run reads, and how text becomes ids."""

    root: str | None = None
    """Folder that relative paths below start from; itself relative to the recipe's folder, which is the default."""
    train: tuple[TrainCorpus, ...] = Field(min_length=1)
    valid: dict[str, ValidFiles] = Field(default={})
    """One validation set, or several by name."""
    tokenizer: SentencePieceTokenizer = SentencePieceTokenizer()
    transforms: tuple[Transform, ...] = ()
    """Applied in this order to each pair, online, before sentencepiece."""
    max_tokens: int = Field(default=256, ge=2, le=65536)
    """Longest side in tokens, end symbol included; longer training pairs are dropped and counted."""
    workers: int | Literal["auto"] = "auto"
    """Processes that read and tokenise; changes nothing but speed. 0 does it in the training process."""

    @field_validator("valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return {"valid": value} if is_one_set(value) else value

    @field_validator("workers", mode="after")
    @classmethod
    def _not_negative(cls, value: int | str) -> int | str:
        if isinstance(value, int) and not 0 <= value <= 256:
            raise ValueError(f"got {value}; allowed is 0 to 256, or auto")
        return value


def is_tag(text: str) -> bool:
    """Whether it is one word, also to sentencepiece, which writes a space as `▁`."""
    return text.split() == [text] and "▁" not in text


def is_one_set(value: Any) -> bool:
    """Whether `valid` is the files of one set, rather than several sets by name."""
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[str, Any]", value)
    if given.keys().isdisjoint({"source", "target", "pairs"}):
        return False
    return not all(isinstance(part, Mapping | ParallelFiles) for part in given.values())
