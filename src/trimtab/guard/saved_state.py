"""The state of a guard as a checkpoint gives it back. Anything else is refused: a guard that silently starts over would
judge nothing in its first steps."""

import sys
from collections.abc import Mapping
from typing import Any, cast

from trimtab.arguments import described, real_number, whole_number, wrong

PARTS = ("outliers", "streak", "budget")
NAME = "Guard.from_dict"
ALLOWED = "what to_dict gave: a dict with " + ", ".join(PARTS)
FIX = "guard.from_dict(saved), with the very dict that guard.to_dict() returned"


def checked_state(saved: Any, *, window: int) -> dict[str, Mapping[str, Any]]:
    """The parts of the state, for a guard with this window."""
    state = a_dict(saved, "the state")
    missing = [part for part in PARTS if part not in state]
    if missing:
        inner = next(
            (key for key, each in state.items() if isinstance(each, Mapping) and PARTS[0] in each), None
        )
        keys = ", ".join(map(str, state)) or "none"
        raise wrong(
            NAME,
            f"the state lacks {', '.join(missing)}",
            got=f"a dict with the keys: {keys}",
            allowed=ALLOWED,
            fix=FIX if inner is None else f"guard.from_dict(saved[{inner!r}])",
        )
    parts = {part: a_dict(state[part], part) for part in PARTS}
    losses = numbers(parts["outliers"].get("losses"), "outliers.losses")
    norms = numbers(parts["outliers"].get("log_norms"), "outliers.log_norms")
    whole_number(parts["streak"].get("length"), name=f"{NAME}: streak.length", least=0, fix=FIX)
    whole_number(parts["budget"].get("steps"), name=f"{NAME}: budget.steps", least=0, fix=FIX)
    numbers(parts["budget"].get("refused"), "budget.refused")
    if len(losses) != len(norms):
        got = f"{len(losses)} losses and {len(norms)} norms"
        raise wrong(NAME, "the state is damaged", got=got, allowed="as many losses as norms", fix=FIX)
    known = state.get("window", max(window, len(losses)))
    if known != window:
        raise wrong(
            NAME,
            "is the state of a guard with another window",
            got=f"a window of {known} steps" if "window" in state else f"{known} remembered steps",
            allowed=f"OutlierRule.window of this guard, {window}",
            fix=f"build it as Guard(OutlierRule(window={known})), or leave out from_dict to start over",
        )
    return parts


def a_dict(value: Any, name: str) -> Mapping[str, Any]:
    """The value, which is a dict."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    fix = "guard.from_dict(json.loads(text))" if isinstance(value, str | bytes) else FIX
    raise wrong(NAME, f"{name} is no dict", got=described(value), allowed=ALLOWED, fix=fix)


def numbers(values: Any, name: str) -> list[float]:
    """The values, which are finite numbers."""
    if not isinstance(values, list | tuple):
        raise wrong(
            f"{NAME}: {name}", "is no list", got=described(values), allowed="a list of numbers", fix=FIX
        )
    listed = cast("list[Any]", values)
    largest = sys.float_info.max
    return [
        real_number(each, name=f"{NAME}: {name}", least=-largest, most=largest, fix=FIX) for each in listed
    ]
