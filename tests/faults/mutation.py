"""A bug put into the source of a function: a line of it is rewritten, and every module that has the function gets the
wrong one."""

import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest


def rewritten(function: Callable[..., Any], *changes: tuple[str, str]) -> Callable[..., Any]:
    """The function with parts of its text replaced, each of which stands there once."""
    plain = inspect.unwrap(function)
    source = textwrap.dedent(inspect.getsource(plain))
    for old, new in changes:
        assert source.count(old) == 1, f"{plain.__qualname__} has {old!r} {source.count(old)} times"
        source = source.replace(old, new)
    made: dict[str, Any] = {}
    exec(source, plain.__globals__, made)
    return made[plain.__name__]


def put_bug(patch: pytest.MonkeyPatch, function: Callable[..., Any], *changes: tuple[str, str]) -> None:
    """Puts the rewritten function into its place: its class, or wherever trimtab has imported it."""
    wrong, name = rewritten(function, *changes), function.__name__
    owner, _, _ = inspect.unwrap(function).__qualname__.rpartition(".")
    if owner:
        patch.setattr(getattr(sys.modules[function.__module__], owner), name, wrong)
        return
    places = [
        (module, key)
        for label, module in list(sys.modules.items())
        if label.partition(".")[0] == "trimtab"
        for key, value in list(vars(module).items())
        if value is function
    ]
    assert places, f"nobody has {name}"
    for module, key in places:
        patch.setattr(module, key, wrong)
