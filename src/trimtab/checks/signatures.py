"""What calls and methods of the libraries take at their newest known versions, from `signatures.json`, which
`tools/read_calls.py` writes."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from trimtab.checks.description import Description, Version

_LIGHTNING: Final = ("lightning.pytorch.", "pytorch_lightning.", "lightning.")


class Gone(NamedTuple):
    """A name that an older version had."""

    library: str
    had: str
    """The newest older version that is known to have had it."""
    home: str
    """The package that offers it now; empty where none does."""


@cache
def _table() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "signatures.json").read_text(encoding="utf-8"))


def canonical(name: str) -> str:
    """A dotted name as the table has it: Lightning is imported under three."""
    for prefix in _LIGHTNING:
        if name.startswith(prefix):
            return "lightning.pytorch." + name.removeprefix(prefix)
    return name


def keywords_of(name: str) -> tuple[str, ...]:
    """What a call takes, where it takes nothing else; empty where that is not known."""
    return tuple(_table()["calls"].get(canonical(name), "").split())


def passed_to(owner: str, method: str) -> tuple[int, frozenset[str]] | None:
    """How many arguments a library passes to a method of its class by position at most, and which by name."""
    found = _table()["passed"].get(f"{canonical(owner)}.{method}")
    if found is None:
        return None
    most, *names = found.split()
    return int(most), frozenset(names)


@cache
def _gone() -> dict[str, Gone]:
    return {
        f"{library}.{name}": Gone(library, had, home)
        for library, versions in _table()["gone"].items()
        for had, names in versions.items()
        for name, _, home in (each.partition(">") for each in names.split())
    }


def gone(name: str) -> Gone | None:
    """What is known of a name that the newest version has no more: `trl.PPOTrainer`."""
    library, _, rest = name.partition(".")
    if library not in ("transformers", "trl", "peft", "accelerate") or "." in rest:
        return None
    return _gone().get(name)


def newest(library: str) -> Version:
    """The version that the table describes."""
    return tuple(int(part) for part in _table()["versions"][library].split(".")[:3])


def is_described(run: Description, library: str) -> bool | None:
    """Whether the table describes the version that counts: None where that is not known."""
    version = run.version(library)
    return None if version is None else version[:2] == newest(library)[:2]
