"""Source factors: what is known of each word of a source besides its spelling, embedded beside its pieces."""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from trimtab.config.settings import Settings

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


class EmbeddedFactor(Settings):
    """How the values of a factor meet the pieces of their word."""

    combine: Literal["sum", "concat"] = "sum"
    """`sum` adds the factor's embedding to that of each piece. `concat` appends it, and the pieces' own embeddings are
    narrower by `dim`; the source then needs a table of its own, as with `model.tie_embeddings: decoder`."""
    dim: int | None = Field(default=None, ge=1, le=65536)
    """Width of the factor's embedding with `combine: concat`; with `sum` it is that of the model."""

    @model_validator(mode="after")
    def _width_where_it_counts(self) -> "EmbeddedFactor":
        if self.combine == "concat" and self.dim is None:
            raise ValueError("dim: `combine: concat` needs the width of the embedding, such as `dim: 16`")
        if self.combine == "sum" and self.dim is not None:
            raise ValueError(
                "dim: with `combine: sum` it is the width of the model; remove it, or use concat"
            )
        return self


class CaseFactor(EmbeddedFactor):
    """How each word is capitalised: lower, title, upper or mixed, or none for what has no case. It is computed from the
    text, so it needs no file, neither for training nor for translation."""

    kind: Literal["case"] = "case"
    name: Literal["case"] = "case"
    """What the factor is called in files and options; always `case`."""
    lowercase: bool = True
    """Read words in lower case, so that `Berlin`, `BERLIN` and `berlin` are the same pieces and differ only in the
    factor. Words of mixed case, such as `iPhone`, stay as they are, so nothing is lost."""


class FileFactor(EmbeddedFactor):
    """A value for each word, such as its part of speech, read from files aligned with the source: a line for each line,
    and in it one value for each word that white space separates. Each corpus names its file in `factors`."""

    kind: Literal["file"] = "file"
    name: str
    """What `factors` of the corpora and `--factors NAME=FILE` call it, such as `pos`."""

    @field_validator("name", mode="after")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if not NAME.fullmatch(value) or value == "case":
            raise ValueError(
                f"got {value!r}; allowed is a word of small letters, digits and _, such as `pos`, and not `case`"
            )
        return value


SourceFactor = Annotated[CaseFactor | FileFactor, Field(discriminator="kind")]


def file_names(factors: tuple[SourceFactor, ...]) -> tuple[str, ...]:
    """The names of the factors that are read from files, in their order."""
    return tuple(each.name for each in factors if isinstance(each, FileFactor))
