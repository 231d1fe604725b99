"""Whether a key of a tool lives at the version that counts: not yet, still, under another name, or no more."""

from collections.abc import Iterable
from typing import Any, Literal

from trimtab.checks.description import Description, Version
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.record import record

Stage = Literal["not yet", "lives", "renamed", "removed"]


@record
class Lifetime:
    """What became of a key."""

    stage: Stage
    is_certain: bool
    """Whether the version is known; otherwise it is reported for the newest known version."""
    library: str
    version: str
    """From which it is so."""


def lifetime(run: Description, key: Key) -> Lifetime:
    """Reported for the version of the key's library; if that is unknown, renames and removals are reported as such,
    and nothing is too new."""
    library = key.library or run.tool
    version = run.version(library)

    def told(stage: Stage, since: str) -> Lifetime:
        return Lifetime(stage, version is not None, library, since)

    if key.removed_in and _reached(version, key.removed_in):
        return told("removed", key.removed_in)
    if key.since and version is not None and not _reached(version, key.since):
        return told("not yet", key.since)
    if key.renamed_in and _reached(version, key.renamed_in):
        return told("renamed", key.renamed_in)
    return told("lives", "")


def undecided(runs: Iterable[Description]) -> set[str]:
    """Libraries whose unknown version decides whether a key that is written still lives."""
    libraries: set[str] = set()
    for run in runs:
        for name in run.keys if run.table is not None else ():
            key = run.table.key(name) if run.table is not None else None
            if key is not None and (key.renamed_in or key.removed_in):
                told = lifetime(run, key)
                if not told.is_certain:
                    libraries.add(told.library)
    return libraries


def is_idle(table: KeyTable, key: Key, value: Any) -> bool:
    """Whether a key that this version does not know is lost without harm: the tool drops it, and what it says is
    nothing or the default, as in a file that another version has saved."""
    return table.unknown_keys == "dropped" and (not value or (key.has_default and value == key.default))


def _reached(version: Version | None, bound: str) -> bool:
    if version is None:
        return True
    wanted = tuple(int(part) for part in bound.split(".") if part.isdigit())
    # 4.41 is 4.41.0.
    return version + (0,) * (len(wanted) - len(version)) >= wanted
