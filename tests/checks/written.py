"""Descriptions by hand, for tests of rules and of what they stand on."""

from collections.abc import Mapping
from typing import Any

from trimtab.checks.description import Description, Version
from trimtab.checks.document import Document, Syntax
from trimtab.checks.keytable import KeyTable
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


def setting(
    key: str, value: Any, *, line: int = 1, raw: str = "", parsed: Any = None, **more: Any
) -> Setting:
    """A setting that stands in `args.yaml`."""
    return Setting(
        key=key, value=value, place=Place("args.yaml", line), raw=raw or str(value), parsed=parsed, **more
    )


def run_of(
    *,
    tool: str = "transformers",
    keys: Mapping[str, Any] | None = None,
    concepts: Mapping[str, Any] | None = None,
    table: KeyTable | None = None,
    versions: Mapping[str, Version] | None = None,
    syntax: Syntax = "yaml",
) -> Description:
    """A description of plain values; each key and concept is a setting of its own, written in the file."""
    return Description(
        tool=tool,
        kind=tool,
        document=Document(path="args.yaml", syntax=syntax, text=""),
        keys=_settings(keys or {}),
        concepts=_settings(concepts or {}),
        table=table,
        versions=versions or {},
    )


def _settings(values: Mapping[str, Any]) -> dict[str, Setting]:
    return {
        name: value if isinstance(value, Setting) else setting(name, value, line=line)
        for line, (name, value) in enumerate(values.items(), start=1)
    }
