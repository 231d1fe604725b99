"""What a fix does to a file, said by keys; `fix` turns it into characters for each syntax and keeps all the rest."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SetValue:
    """Writes another value behind a key that is there."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class AddKey:
    """Writes a key that is not there, beside the key `after` (dotted paths; both in one mapping)."""

    key: str
    value: Any
    after: str


@dataclass(frozen=True, slots=True)
class RenameKey:
    """Gives a key another name, its value kept."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class RemoveKey:
    """Takes a key and its value away."""

    key: str


Edit = SetValue | AddKey | RenameKey | RemoveKey
