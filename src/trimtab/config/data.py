"""What a run reads: corpora, tokenizer, transforms, limits."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.config.settings import Settings
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.config.transforms import Transform


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


def is_one_set(value: Any) -> bool:
    """Whether `valid` is the files of one set, rather than several sets by name."""
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[str, Any]", value)
    if given.keys().isdisjoint({"source", "target", "pairs"}):
        return False
    return not all(isinstance(part, Mapping | ParallelFiles) for part in given.values())
