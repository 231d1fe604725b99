"""The labels of a run, or its classes: read from its training data once, then kept in its folder."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trimtab.checkpoint.durable import replace_file
from trimtab.errors import InputError, Problem, input_error, reading

LABELS_FILE = "labels.json"
SHOWN = 12
"""Labels that a message lists."""
MOST_NAMED = 10
"""Problems that a message lists."""


@dataclass(frozen=True, slots=True)
class Labels:
    """All labels, sorted; the place of each is its number. The names of a detector's categories have an order of
    their own."""

    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each label."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def fingerprint(self) -> str:
        """sha256 of the labels in their order: weights mean nothing with other ones."""
        return hashlib.sha256(json.dumps(self.names).encode()).hexdigest()

    def shown(self) -> str:
        """The first few in words."""
        more = f" and {len(self.names) - SHOWN:,} more" if len(self.names) > SHOWN else ""
        return ", ".join(self.names[:SHOWN]) + more


def save_labels(labels: Labels, folder: Path) -> None:
    """Writes them into a run's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(labels.names, ensure_ascii=False, indent=1) + "\n"
    replace_file(folder / LABELS_FILE, text.encode())


def load_labels(folder: Path) -> Labels:
    """The labels in a run's folder; InputError if they are missing or damaged."""
    path = folder / LABELS_FILE
    with reading(path):
        text = path.read_text(encoding="utf-8")
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise input_error(
            f"{path}: no list of labels",
            got=text[:60],
            allowed="a JSON list of texts",
            fix="restore the file of this run",
        )
    return Labels(tuple(names))


def numbered(
    names: Iterable[str],
    numbers: Mapping[str, int],
    *,
    key: str,
    place: Callable[[int], str],
    what: str,
    allowed: str,
    fix: str,
) -> list[int]:
    """The number of the label of each line of a set.

    Raises InputError with the first labels that have no number, and where each is first: `what` is wrong with them, in
    words.
    """
    found, unknown = list[int](), dict[str, int]()
    for line, name in enumerate(names):
        found.append(numbers.get(name, -1))
        if name not in numbers:
            unknown.setdefault(name, line)
    if unknown:
        raise InputError(
            *(
                Problem(what=f"{key}: {place(line)}: {what}", got=repr(name), allowed=allowed, fix=fix)
                for name, line in [*unknown.items()][:MOST_NAMED]
            )
        )
    return found
