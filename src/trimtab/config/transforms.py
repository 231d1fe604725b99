"""What is done to each pair before it becomes ids, one class a kind."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.config.settings import Settings


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
