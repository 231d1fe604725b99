"""Weights that keep their values."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from trimtab.errors import input_error


def freeze(model: Any, patterns: Sequence[str]) -> None:
    """Makes weights whose names match a pattern keep their values; InputError for a pattern that matches none, and
    where nothing is left to train."""
    named = dict(model.named_parameters())
    frozen = set(model.frozen)  # what the model never trains, as a module its table of sines
    for pattern in patterns:
        if not (found := {name for name in named if fnmatchcase(name, pattern)}):
            raise input_error(
                "freeze: no weight of the model has such a name",
                got=pattern,
                allowed=", ".join([*named][:4]) + ", ...",
                fix=f"write one of them, or a pattern such as `{[*named][-1].rpartition('.')[0]}.*`",
            )
        frozen |= found
    if len(frozen) == len(named):
        raise input_error(
            "freeze: nothing is left to train",
            got=f"[{', '.join(patterns)}], which match all {len(named)} weights",
            allowed="patterns that leave some out",
            fix="freeze the lower layers alone"
            + (", such as `decoder.blocks.[0-3].*`" if "decoder.blocks.0" in " ".join(named) else ""),
        )
    for name in frozen:
        named[name].requires_grad = False
    model.frozen = frozenset(frozen)
