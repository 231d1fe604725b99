"""How several processes train one model."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused
from trimtab.errors import input_error
from trimtab.units import Duration

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

LONGEST_WAIT = Duration(10, "minutes")
FEWEST_MINUTES, MOST_MINUTES = 0.1, 7 * 24 * 60.0
"""Of a timeout: a shorter one ends jobs whose ranks are well, and a longer one never ends a job that hangs."""


class _Waits(Settings):
    """What each kind has: how long ranks wait for one another."""

    timeout: Duration = LONGEST_WAIT
    """How long a process waits in a step for another one before the job ends with exit code 99. It must be longer than
    the longest time that one process works alone, such as writing the last checkpoint."""

    @model_validator(mode="after")
    def _in_minutes(self) -> "_Waits":
        if self.timeout.unit != "minutes":
            raise refused(
                "timeout",
                "must be a time in minutes",
                got=str(self.timeout),
                allowed="a number of minutes",
                fix="write it in minutes, such as `timeout: 10 minutes`",
            )
        if not FEWEST_MINUTES <= self.timeout.count <= MOST_MINUTES:
            raise refused(
                "timeout",
                "is too short" if self.timeout.count < FEWEST_MINUTES else "is too long",
                got=str(self.timeout),
                allowed="6 seconds to 7 days",
                fix="write `timeout: 10 minutes`, or longer than one process ever works alone",
            )
        return self


class DataParallel(_Waits):
    """Every process has the whole model and a share of the micro-batches of each step; gradients are summed once a
    step."""

    kind: Literal["data_parallel"] = "data_parallel"


class FullySharded(_Waits):
    """Shards weights, gradients and optimizer states across the processes, for a model that does not fit on one GPU:
    each layer is gathered while it runs (FSDP2, `torch.distributed.fsdp.fully_shard`)."""

    kind: Literal["fsdp"] = "fsdp"


class ByDirection(_Waits):
    """Each process works on some directions of a modular model and trains their components. The processes that hold a
    component sum its gradients once a step; a process keeps gradients and optimizer states only for its components."""

    kind: Literal["by_direction"] = "by_direction"
    placement: tuple[dict[str, float], ...] = ()
    """For each process its directions, each with the share of the direction's sentences that it takes: `[{en-de: 1.0},
    {en-ja: 0.5}, {en-ja: 0.5, ja-en: 1.0}]`, as `trimtab plan tasks --json` prints under `ranks`. If it is
    empty, trimtab computes a placement for the number of processes, with even work and the least communication."""


Parallel = Annotated[DataParallel | FullySharded | ByDirection, Field(discriminator="kind")]


def check_processes(recipe: "Recipe", processes: int, *, option: str, fewer: str) -> None:
    """Raises InputError where a step has fewer targets than processes, or a process would have less than the longest
    example: some of them would never have work. `option` gave their number, and `fewer` is how to give another, with
    `{}` for it."""
    longest = recipe.facts.targets_of_longest(recipe.data.max_tokens)
    most = max(1, recipe.step.tokens_per_step // longest)
    if processes > most:
        alone = recipe.facts.one_target
        given = "" if alone else f" with data.max_tokens {recipe.data.max_tokens:,}"
        needed = f"one of the {recipe.facts.targets}" if alone else "targets for the longest example"
        raise input_error(
            f"{option}: more processes than a step has work for",
            got=f"{processes:,} processes for step.tokens_per_step {recipe.step.tokens_per_step:,}{given}",
            allowed=f"1 to {most:,}: each process needs {needed}",
            fix=f"{fewer.format(most)}, or set step.tokens_per_step to {processes * longest}",
        )
