"""Weights that keep their values, for the whole run or for its first steps."""

from collections.abc import Sequence

from pydantic import Field, field_validator

from trimtab.config.settings import Settings
from trimtab.units import Duration


class FrozenUntil(Settings):
    """Weights that keep their values for the first steps of a run: gradual unfreezing (Howard and Ruder 2018, arXiv
    1801.06146, section 3.3)."""

    weights: tuple[str, ...] = Field(min_length=1)
    """Patterns over names, as in `freeze` itself."""
    until: Duration
    """How many steps they keep their values, such as `200 steps`; the next step is the first that trains them."""

    @field_validator("until", mode="after")
    @classmethod
    def _in_steps(cls, value: Duration) -> Duration:
        if value.unit != "steps" or value.count < 1:
            raise ValueError(f"got {value}; allowed is a number of steps, such as `200 steps`")
        return value


Frozen = str | FrozenUntil


def patterns_of(frozen: Sequence[Frozen]) -> tuple[str, ...]:
    """The patterns of the weights that are never trained."""
    return tuple(each for each in frozen if isinstance(each, str))


def stages_of(frozen: Sequence[Frozen]) -> tuple[FrozenUntil, ...]:
    """Those that are trained later, in the order in which they are."""
    later = [each for each in frozen if isinstance(each, FrozenUntil)]
    return tuple(sorted(later, key=lambda each: each.until.count))


def written(frozen: Sequence[Frozen]) -> str:
    """As messages name them."""
    texts = [
        each if isinstance(each, str) else f"{', '.join(each.weights)} until {each.until}" for each in frozen
    ]
    return ", ".join(texts)
