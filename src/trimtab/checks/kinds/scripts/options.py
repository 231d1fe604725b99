"""Options of a command as settings, their text read by the key's type as argparse does."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from trimtab.checks.document import Call, Entry
from trimtab.checks.keytable import KeyTable
from trimtab.checks.kinds.written import as_number, settings_of
from trimtab.checks.setting import Setting


def told_options(call: Call, table: KeyTable | None, prefix: str) -> dict[str, Setting]:
    """The options of a command by name; JSON between braces is taken apart where the key is a mapping."""
    return settings_of(_entries(call, table), prefix=prefix, table=table, converts=True)


def _entries(call: Call, table: KeyTable | None) -> Iterator[Entry]:
    for entry in call.arguments.values():
        known = table.keys.get(entry.key) if table else None
        value = entry.value if known is not None else _number(entry.value)
        if known is not None and "mapping" in known.types and isinstance(value, str):
            value = _mapping(value)
        elif known is not None and known.types == ("list",) and isinstance(value, str):
            value = [value]
        yield entry if value is entry.value else replace(entry, value=value)
        if isinstance(value, dict):
            yield from _inside(entry, cast("dict[str, Any]", value))


def _inside(entry: Entry, value: dict[str, Any]) -> Iterator[Entry]:
    for name, inner in value.items():
        below = replace(entry, key=f"{entry.key}.{name}", value=inner)
        yield below
        if isinstance(inner, dict):
            yield from _inside(below, cast("dict[str, Any]", inner))


def _number(value: Any) -> Any:
    """What a program most likely makes of an option that nothing is known of: a number where it looks like one."""
    number = as_number(value) if isinstance(value, str) else None
    if number is None or not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and value.lstrip("-").isdigit() else number


def _mapping(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
