"""Describes allowed and given values in the terms of recipes."""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from trimtab.config.places import Place, keys_of, kind_of
from trimtab.units import Duration


def describe(place: Place) -> str:
    """What is allowed at a place: `a whole number, at least 1` or `auto, on or off`."""
    models = place.models
    if len(models) > 1:
        return f"a group of keys with the kind {join_words([kind_of(model) for model in models], 'or')}"
    words = dict.fromkeys(word for choice in place.choices for word in _words(choice, place))
    return join_words(list(words), "or")


def shown(value: Any) -> str:
    """A value as the user wrote it, cut where it is long."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a group of keys"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def join_words(words: Sequence[str], last: str) -> str:
    """`a, b or c`, with a comma before the last word where a word has one of its own."""
    if len(words) < 2:
        return "".join(words)
    comma = "," if any(", " in word for word in words) else ""
    return f"{', '.join(words[:-1])}{comma} {last} {words[-1]}"


_SIMPLE: dict[Any, str] = {
    str: "text",
    NoneType: "null",
    Duration: "a number and its unit, such as '500 steps', '3 epochs', '2M tokens' or '30 minutes'",
}
_NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}
_BOUNDS = (("gt", "greater than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most"))


def _words(choice: Any, place: Place) -> list[str]:
    arguments = get_args(choice)
    if choice in _NUMBERS:
        limits = join_words(_limits(place), "and")
        return [f"{_NUMBERS[choice]}, {limits}" if limits else _NUMBERS[choice]]
    if choice is bool:
        return ["true", "false"]
    if choice in _SIMPLE:
        return [_SIMPLE[choice]]
    if get_origin(choice) is Literal:
        return [str(value) for value in arguments]
    if get_origin(choice) is tuple:
        number = "" if arguments[-1] is Ellipsis else f" of {len(arguments)}"
        return [f"a list{number}, each item {describe(Place(arguments[0]))}"]
    if get_origin(choice) is dict:
        return ["a group of names"]
    return [f"a group of keys: {join_words(keys_of(choice), 'and')}"]


def _limits(place: Place) -> list[str]:
    found = [
        (words, getattr(bound, name))
        for name, words in _BOUNDS
        for bound in place.bounds
        if hasattr(bound, name)
    ]
    return [f"{words} {limit if isinstance(limit, int) else format(limit, 'g')}" for words, limit in found]
