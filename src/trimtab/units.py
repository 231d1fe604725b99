"""Numbers that remember their unit: `500 steps`, `3 epochs`, `2M tokens`, `30 minutes`."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

from pydantic_core import core_schema

LengthUnit = Literal["steps", "epochs", "tokens", "minutes"]
LONGEST = 1e18
"""In any unit; beyond it floats no longer count one by one, by far."""

_WORD = re.compile(r"^\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*((?:[kKMGBT](?![A-Za-z]))?)\s*([A-Za-z]+)\s*$")
_SCALE = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_MINUTES = {
    "s": 1 / 60,
    "sec": 1 / 60,
    "second": 1 / 60,
    "min": 1,
    "h": 60,
    "hr": 60,
    "hour": 60,
    "day": 1440,
}
"""How many minutes the other units of time have."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of training with its unit; steps, epochs and minutes may have a fraction only where that makes sense."""

    count: int | float
    unit: LengthUnit

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Reads `2B tokens`, `500 steps`, `1.5 epochs`; other units of time, such as `30 seconds`, as minutes. Raises
        ValueError with what is allowed."""
        match = _WORD.match(text)
        if match is None:
            raise ValueError(
                f"got {text!r}; allowed is a number and its unit, such as '500 steps', '3 epochs', "
                "'2M tokens' or '30 minutes'"
            )
        number, scale, word = match.groups()
        count = float(number.replace("_", "").replace(",", "")) * _SCALE[scale]
        unit = word.lower() if word.lower().endswith("s") else word.lower() + "s"
        if unit not in get_args(LengthUnit):
            minutes = _MINUTES.get(word.lower() if len(word) == 1 else unit[:-1])
            if minutes is None:
                raise ValueError(f"got the unit {word!r}; allowed are steps, epochs, tokens and minutes")
            count, unit = (max(0.0001, round(count * minutes, 4)) if count else count), "minutes"
        if not 0 < count < LONGEST:
            raise ValueError(f"got {text!r}; allowed is more than zero, and less than 1e18")
        if unit in ("steps", "tokens") and count != int(count):
            raise ValueError(f"got {text!r}; allowed are whole numbers of {unit}")
        return cls(count, unit)  # type: ignore[arg-type]

    @property
    def steps(self) -> int:
        """The number of steps of a length that is written in steps (others depend on the data)."""
        assert self.unit == "steps", self
        return int(self.count)

    def __str__(self) -> str:
        # Not repr: it writes small numbers with an exponent, which lengths do not have.
        number = int(self.count) if self.count == int(self.count) else format(Decimal(repr(self.count)), "f")
        return f"{number} {self.unit}"

    @classmethod
    def _validate(cls, value: Any) -> "Duration":
        if isinstance(value, cls):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"got {value!r}; allowed is a number and its unit, such as '500 steps'")
        if isinstance(value, int | float) and not value > 0:
            raise ValueError(f"got {value}; allowed is more than zero, and its unit, such as '500 steps'")
        if isinstance(value, int | float):
            raise ValueError(
                f"got the bare number {value}; say the unit, such as '{value} steps' or '{value} epochs'"
            )
        return cls.parse(value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": _WORD.pattern,
            "examples": ["500 steps", "3 epochs", "2M tokens"],
        }


def counted(count: int, one: str, several: str = "") -> str:
    """A number of things in words: `1 pair`, `1,200 pairs`. `several` is the plural where it is not `one` with an s."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"
