"""Parts of a run in which the corpora are mixed in different ways."""

from pydantic import Field, field_validator

from trimtab.config.settings import Settings
from trimtab.units import Duration


class Stage(Settings):
    """A part of the run with its own weights: for example, start with much crawled text and end with the target
    domain."""

    until: Duration | None = None
    """Where it ends, such as `2000 steps`, counted from the start of the run. The last stage has none and lasts until
    the end."""
    weights: dict[str, float] = Field(min_length=1)
    """Weights by the `name` of the corpus. 0 skips a corpus; one that is not named here keeps its `weight`. Only their
    proportions count: an epoch is as long in every stage as it is without stages."""

    @field_validator("until", mode="after")
    @classmethod
    def _in_steps(cls, value: Duration | None) -> Duration | None:
        # What is read at a step must follow from the step alone, for a run to go on where it was.
        if value is not None and (value.unit != "steps" or value.count < 1):
            raise ValueError(f"got {value}; allowed is a number of steps, such as '2000 steps'")
        return value

    @field_validator("weights", mode="after")
    @classmethod
    def _weights_in_range(cls, value: dict[str, float]) -> dict[str, float]:
        for name, weight in value.items():
            if not 0 <= weight <= 1000:
                raise ValueError(f"got {name}: {weight}; allowed is 0 to 1000")
        return value
