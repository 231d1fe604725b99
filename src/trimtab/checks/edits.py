"""What a fix does to a file, said by keys; `fix` turns it into characters for each syntax and keeps all the rest."""

from typing import Any

from trimtab.checks.record import record


@record
class SetValue:
    """Writes another value behind a key that is there."""

    key: str
    value: Any


@record
class AddKey:
    """Writes a key that is not there, beside the key `after` (dotted paths; both in one mapping)."""

    key: str
    value: Any
    after: str


@record
class RenameKey:
    """Gives a key another name, its value kept."""

    key: str
    name: str


@record
class RemoveKey:
    """Takes a key and its value away."""

    key: str


Edit = SetValue | AddKey | RenameKey | RemoveKey
