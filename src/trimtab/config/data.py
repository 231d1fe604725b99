"""What a run reads: corpora, tokenizer, transforms, limits."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.config.settings import Settings
from trimtab.config.stages import Stage
from trimtab.config.tokenizer import SentencePieceTokenizer, Tokenizer
from trimtab.config.transforms import Transform


class DataConfig(Settings):
    """What the run reads, and how text becomes ids."""

    root: str | None = None
    """Folder that relative paths below start from; itself relative to the recipe's folder, which is the default."""
    train: tuple[TrainCorpus, ...] = Field(min_length=1)
    """The corpora to train on."""
    temperature: float = Field(default=1.0, ge=1.0, le=1000)
    """Above 1, small corpora are seen more often than their size says: shares are (weight · lines)^(1 / temperature),
    and an epoch stays as long. 5 is usual for many languages of very different size (arXiv 1907.05019)."""
    stages: tuple[Stage, ...] = ()
    """Other weights in other parts of the run: `[{until: 2000 steps, weights: {news: 0}}, {weights: {news: 4}}]`."""
    valid: dict[str, ValidFiles] = Field(default={})
    """One validation set, or several by name."""
    tokenizer: Tokenizer = SentencePieceTokenizer()
    """How text becomes ids: on both sides, or on the target's alone where `source_tokenizer` is written."""
    source_tokenizer: SentencePieceTokenizer | None = None
    """A vocabulary of the source's own, as for two languages in different scripts: each of the two tokenizers is then
    trained on its side's lines alone, and tags are pieces of this one. By default both sides share `tokenizer`."""
    transforms: tuple[Transform, ...] = ()
    """Applied in this order to each pair, online, before sentencepiece; `denoise` after it, to what it gives."""
    max_tokens: int = Field(default=256, ge=2, le=65536)
    """Longest side in tokens, end symbol included; longer training pairs are dropped and counted. Of language models
    the longest row: longer documents are split, and nothing of them is dropped."""
    workers: int | Literal["auto"] = "auto"
    """Processes that read and tokenise; changes nothing but speed. 0 does it in the training process."""

    @field_validator("valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return {"valid": value} if is_one_set(value) else value

    @field_validator("transforms", mode="after")
    @classmethod
    def _protected_once(cls, value: tuple[Transform, ...]) -> tuple[Transform, ...]:
        if sum(each.kind == "protect" for each in value) > 1:
            raise ValueError("protect stands there twice; one of them takes all patterns")
        return value

    @field_validator("workers", mode="after")
    @classmethod
    def _not_negative(cls, value: int | str) -> int | str:
        if isinstance(value, int) and not 0 <= value <= 256:
            raise ValueError(f"got {value}; allowed is 0 to 256, or auto")
        return value


def is_one_set(value: Any) -> bool:
    """Whether `valid` is the files of one set, rather than several sets by name."""
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[str, Any]", value)
    if given.keys().isdisjoint({"source", "target", "pairs", "documents", "text"}):
        return False
    return not all(isinstance(part, Mapping | ParallelFiles) for part in given.values())
