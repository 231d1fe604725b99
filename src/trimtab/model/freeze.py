"""Weights that keep their values, for the whole run or for its first steps."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from trimtab.config.freezing import FrozenUntil
from trimtab.errors import input_error


def freeze(model: Any, patterns: Sequence[str]) -> None:
    """Makes weights whose names match a pattern keep their values; InputError for a pattern that matches none, and
    where nothing is left to train."""
    frozen = set(model.frozen) | matched(
        model, patterns
    )  # what the model never trains, as a module its table of sines
    _refuse_all(model, frozen, patterns)
    named = dict(model.named_parameters())
    for name in frozen:
        named[name].requires_grad = False
    model.frozen = frozenset(frozen)


def matched(model: Any, patterns: Sequence[str], *, key: str = "freeze") -> set[str]:
    """Names of the weights that patterns match; InputError for one that matches none. `key` is that of the recipe."""
    names = [name for name, _ in model.named_parameters()]
    found: set[str] = set()
    for pattern in patterns:
        if not (some := {name for name in names if fnmatchcase(name, pattern)}):
            raise input_error(
                f"{key}: no weight of the model has such a name",
                got=pattern,
                allowed=", ".join(names[:4]) + ", ...",
                fix=f"write one of them, or a pattern such as `{names[-1].rpartition('.')[0]}.*`",
            )
        found |= some
    return found


class Unfreezing:
    """Trains more weights from one step on than before it; which ones follows from the step alone."""

    def __init__(self, model: Any, stages: Sequence[FrozenUntil]) -> None:
        """What the model freezes by now is never trained. InputError for a pattern that matches no weight, and where
        nothing is left to train at first."""
        self.model, self.never = model, frozenset(model.frozen)
        self.later = [
            (int(stage.until.count), frozenset(matched(model, stage.weights)) - self.never)
            for stage in stages
        ]
        _refuse_all(model, set(self.frozen_at(0)), [one for stage in stages for one in stage.weights])

    def frozen_at(self, step: int) -> frozenset[str]:
        """Names of the weights that are frozen when so many steps have been taken."""
        return frozenset(self.never.union(*(names for until, names in self.later if step < until)))

    def begin(self, step: int) -> bool:
        """Freezes what is frozen when so many steps have been taken, and nothing else; whether that is a change."""
        names = self.frozen_at(step)
        if names == self.model.frozen:
            return False
        named = dict(self.model.named_parameters())
        for name in frozenset[str]().union(*(names for _, names in self.later)):
            named[name].requires_grad = name not in names
            named[name].grad = None
        self.model.frozen = names
        return True

    def described(self) -> list[tuple[int, int, int]]:
        """Of each stage the first step, counted from 1, and how many weights and numbers it trains."""
        sizes = {name: weight.numel() for name, weight in self.model.named_parameters()}
        found: list[tuple[int, int, int]] = []
        for begins in sorted({0, *(until for until, _ in self.later)}):
            trained = sizes.keys() - self.frozen_at(begins)
            found.append((begins + 1, len(trained), sum(sizes[name] for name in trained)))
        return found


def _refuse_all(model: Any, frozen: set[str], patterns: Sequence[str]) -> None:
    names = [name for name, _ in model.named_parameters()]
    if len(frozen) < len(names):
        return
    raise input_error(
        "freeze: nothing is left to train",
        got=f"[{', '.join(patterns)}], which match all {len(names)} weights",
        allowed="patterns that leave some out",
        fix="freeze the lower layers alone"
        + (", such as `decoder.blocks.[0-3].*`" if "decoder.blocks.0" in " ".join(names) else ""),
    )
