"""The checkpoints that a user names, and which of their weights are meant."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe, Weights
from trimtab.decode.given_texts import check_texts
from trimtab.errors import input_error
from trimtab.inference.chosen_weights import chosen_weights, place_of, weights_meant


@dataclass(frozen=True, slots=True)
class Member:
    """One checkpoint with the recipe of its run."""

    checkpoint: Checkpoint
    recipe: Recipe

    @property
    def label(self) -> str:
        """`RUN@STEP`, with `:ema` or `:raw` where that must be said."""
        return place_of(self.checkpoint, self.recipe)

    def load(self) -> dict[str, Tensor]:
        """The weights that are meant, on the CPU."""
        return chosen_weights(self.checkpoint, self.recipe)

    def with_weights(self, weights: Weights) -> "Member":
        """The same checkpoint, with the other weights perhaps."""
        return Member(replace(self.checkpoint, weights=weights), self.recipe)


def open_member(spec: str) -> Member:
    """The checkpoint of a name such as `RUN@500`."""
    found = resolve_checkpoint(spec)
    return Member(found, load_recipe(RunFolder(found.run).recipe).recipe)


def open_members(
    specs: Sequence[str], *, last: int | None, weights: Weights | None, least: int
) -> list[Member]:
    """The checkpoints that are named, each once, or the `last` ones of the one run that is; `weights` says which of
    their weights are meant where the names do not.

    Raises InputError if fewer than `least` remain, and where one name is given in place of a list of them.
    """
    check_texts(specs, name="checkpoints")
    if last is None:
        found = [open_member(spec) for spec in specs]
    else:
        found = _newest(specs, last)
    if weights is not None:
        found = [each if each.checkpoint.weights else each.with_weights(weights) for each in found]
    different = {
        (str(each.checkpoint.folder.resolve()), weights_meant(each.checkpoint, each.recipe)): each
        for each in found
    }
    if len(different) < least:
        raise input_error(
            "average: needs at least two different checkpoints",
            got=", ".join(each.label for each in different.values()) or "none",
            allowed="two or more, such as RUN@500 RUN@1000; or one with --ema",
            fix="name more of them; `checkpoint.keep` says how many a run keeps",
        )
    return list(different.values())


def fewer_than_asked(members: Sequence[Member], last: int | None) -> tuple[str, ...]:
    """A note where the run has not as many checkpoints as the `last` that were asked for."""
    if last is None or len(members) >= last:
        return ()
    return (
        f"the last {last} checkpoints were asked for, and {len(members)} are there; `checkpoint.keep` says how many a "
        "run keeps",
    )


def best_of_run(members: Sequence[Member]) -> Member | None:
    """The best checkpoint of the run that all are of, where it is none of them."""
    runs = {each.checkpoint.run.resolve() for each in members}
    if len(runs) > 1:
        return None
    best = open_member(str(members[0].checkpoint.run))
    best = best.with_weights(weights_meant(members[0].checkpoint, members[0].recipe))
    return None if best.label in {each.label for each in members} else best


def _newest(specs: Sequence[str], last: int) -> list[Member]:
    if len(specs) != 1:
        raise input_error(
            "--last: is for the checkpoints of one run",
            got=f"{len(specs)} runs",
            allowed="one",
            fix="name one run, or the checkpoints themselves: RUN@500 RUN@1000",
        )
    asked = resolve_checkpoint(specs[0])
    steps = list_steps(RunFolder(asked.run).checkpoints)[-last:]
    found = [open_member(f"{asked.run}@{step}") for step in steps]
    return found if asked.weights is None else [each.with_weights(asked.weights) for each in found]
