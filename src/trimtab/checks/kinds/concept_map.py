"""Puts settings of tools under the words of `concepts`; what has not the concept's type is not told."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from trimtab.checks.concepts import CONCEPTS
from trimtab.checks.kinds.written import Written
from trimtab.checks.listed import text_list as text_list
from trimtab.checks.setting import Setting

Concepts = dict[str, Setting]
_AS_IT_IS: Any = object()


def put(concepts: Concepts, concept: str, setting: Setting | None, value: Any = _AS_IT_IS) -> None:
    """Tells a concept, its value given or the setting's own; nothing where either is unknown or of another type."""
    if setting is None:
        return
    typed = as_type(setting.value if value is _AS_IT_IS else value, CONCEPTS[concept].type)
    if typed is not None:
        concepts[concept] = replace(setting, value=typed)


def put_each(concepts: Concepts, written: Written, keys: Mapping[str, str]) -> None:
    """Tells concepts whose value is that of one key: {concept: key}."""
    for concept, key in keys.items():
        put(concepts, concept, written.get(key))


def as_type(value: Any, wanted: type) -> Any:
    """The value as exactly this type, None if it is another: a whole float is an integer, a boolean no number."""
    if isinstance(value, bool):
        return value if wanted is bool else None
    if wanted is float and isinstance(value, int | float):
        return _float(value)
    if wanted is int and isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value if isinstance(value, wanted) else None


def positive(setting: Setting | None) -> Setting | None:
    """The setting where its number is above zero: -1, 0 and nothing are "not set"."""
    number = as_type(setting.value, float) if setting is not None else None
    return setting if number is not None and number > 0 else None


def _float(value: int | float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def put_wrapped(concepts: Concepts, setting: Setting | None) -> None:
    """Tells the classes that FSDP wraps: a list, or names between commas."""
    value = setting.value if setting is not None else None
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else text_list(value)
    put(concepts, "wrapped_layers", setting, names if names and all(names) else None)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a list, of whatever."""
    return isinstance(value, list)
