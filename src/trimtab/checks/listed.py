"""Values that list something, in the spellings that command lines and YAML have for a list."""

import math
from typing import Any, cast


def text_list(value: Any) -> list[str] | None:
    """A list of names: a list of texts, or one text by itself."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    return list(items) if all(isinstance(item, str) for item in items) else None


def numbers(value: Any) -> list[float]:
    """The numbers of a list, of one number, or of a text that lists some: `(0.9, 0.98)`, `[5e-4]`, `1,2`, `6:6`; none
    where anything else is among them."""
    if isinstance(value, str):
        value = _literal(value)
    items = list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]
    try:
        found = [float(item) for item in items if not isinstance(item, bool)]
    except (TypeError, ValueError, OverflowError):
        return []
    return found if len(found) == len(items) and all(map(math.isfinite, found)) else []


def _literal(text: str) -> Any:
    parts = text.split(":")
    if len(parts) > 1:
        return parts
    import ast  # only where a text lists something

    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
