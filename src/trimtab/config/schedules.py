"""How the learning rate changes over a run: one class per schedule."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from trimtab.config.settings import Settings, refused
from trimtab.units import Duration

_ZERO = re.compile(r"\s*0[0_.,]*[A-Za-z\s]*")


class Warms(Settings):
    """What schedules with a `warmup` say of one that has no length."""

    without_warmup: ClassVar[str] = "write '1 steps', the shortest there is"

    @field_validator("warmup", mode="before", check_fields=False)
    @classmethod
    def _has_length(cls, value: Any) -> Any:
        if isinstance(value, int | float | str) and _ZERO.fullmatch(str(value)):
            raise refused(
                "",
                "no warmup",
                got=repr(value),
                allowed="more than zero, and its unit, such as '500 steps'",
                fix=cls.without_warmup,
            )
        return value


class Constant(Warms):
    """A constant learning rate, after an optional warmup."""

    without_warmup: ClassVar[str] = "leave it out: the rate is the same throughout then"
    kind: Literal["constant"] = "constant"
    warmup: Duration | None = None
    """How long the learning rate rises linearly from zero; by default not at all."""


class LinearWarmup(Warms):
    """Rises over `warmup`, then falls linearly to zero at `length`."""

    kind: Literal["linear_warmup"] = "linear_warmup"
    warmup: Duration = Duration(500, "steps")
    """How long the learning rate rises linearly from zero."""


class InverseSqrt(Warms):
    """Rises over `warmup`, then falls with the inverse square root of the step."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    warmup: Duration = Duration(4000, "steps")
    """How long the learning rate rises linearly from zero."""


class Cosine(Warms):
    """Rises over `warmup`, then falls along half a cosine (arXiv 1608.03983) to `floor` at `length`."""

    kind: Literal["cosine"] = "cosine"
    warmup: Duration = Duration(500, "steps")
    """How long the learning rate rises linearly from zero."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """Share of the peak learning rate that remains at the end."""


class WarmupStableDecay(Warms):
    """Rises over `warmup`, stays constant, then falls to `floor` over the last part of the run (arXiv 2405.18392)."""

    kind: Literal["warmup_stable_decay"] = "warmup_stable_decay"
    warmup: Duration = Duration(500, "steps")
    """How long the learning rate rises linearly from zero."""
    decay_share: float = Field(default=0.2, gt=0, le=1)
    """Share of `length`, at its end, in which the learning rate falls."""
    shape: Literal["linear", "sqrt"] = "sqrt"
    """Linear decay, or 1 - sqrt of the elapsed share of the decay (section 3.1)."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """Share of the peak learning rate that remains at the end."""


class OneCycle(Warms):
    """Rises along half a cosine from `start`, and falls along another to `floor` (arXiv 1708.07120)."""

    kind: Literal["one_cycle"] = "one_cycle"
    warmup: Duration | None = None
    """By default 30% of `length`."""
    start: float = Field(default=0.04, gt=0, lt=1)
    """Share of the peak learning rate at the beginning."""
    floor: float = Field(default=4.0e-6, ge=0, lt=1)
    """Share of the peak learning rate that remains at the end."""


class Exponential(Warms):
    """Rises over `warmup`, then falls by a constant factor per step, to `floor` at `length`."""

    kind: Literal["exponential"] = "exponential"
    warmup: Duration = Duration(500, "steps")
    """How long the learning rate rises linearly from zero."""
    floor: float = Field(default=0.1, gt=0, lt=1)
    """Share of the peak learning rate that remains at the end."""


class Noam(Warms):
    """`inverse_sqrt` with the learning rate of "Attention Is All You Need" (arXiv 1706.03762, equation 3):
    `learning_rate` is a factor, and the peak is learning_rate / sqrt(dim * warmup). Use it to reproduce recipes of
    other tools; the peak is printed when the run begins."""

    without_warmup: ClassVar[str] = "write how many steps it takes; the peak follows from them"
    kind: Literal["noam"] = "noam"
    warmup: Duration = Duration(4000, "steps")
    """How long the learning rate rises linearly from zero."""

    @model_validator(mode="after")
    def _warmup_in_steps(self) -> "Noam":
        if self.warmup.unit != "steps":
            raise ValueError(
                f"warmup: got {self.warmup}; allowed is a number of steps, since this schedule's peak follows from it"
            )
        return self


Schedule = Annotated[
    Constant | LinearWarmup | InverseSqrt | Cosine | WarmupStableDecay | OneCycle | Exponential | Noam,
    Field(discriminator="kind"),
]
