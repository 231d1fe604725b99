"""The categories of a run: read from its training data once, then kept in its folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.checkpoint.durable import replace_file
from trimtab.errors import input_error, reading
from trimtab.tasks.detection.annotations import Annotations
from trimtab.tasks.labels import Labels

CATEGORIES_FILE = "categories.json"


@dataclass(frozen=True, slots=True)
class Categories(Labels):
    """All categories; the place of each is its number for the model."""

    ids: tuple[int, ...]
    """What the first training list calls each, which results in COCO's form use."""

    def numbers_of(self, names: Sequence[str]) -> list[int]:
        """The number of each of these; -1 for one that is not among them."""
        known = self.numbers
        return [known.get(name, -1) for name in names]


def prepare_categories(lists: Sequence[Annotations], *, folder: Path) -> Categories:
    """The categories in a run's folder, or those of the lists, which are then written there: those of the first list in
    its order, then what others add. InputError where the file is damaged or the lists have other categories."""
    path = folder / CATEGORIES_FILE
    found: dict[str, int] = {}
    for each in lists:
        for name, number in zip(each.names, each.category_ids, strict=True):
            if name not in found:
                found[name] = number if number not in found.values() else max(found.values()) + 1
    given = Categories(tuple(found), tuple(found.values()))
    if path.exists():
        kept = load_categories(folder)
        if kept.fingerprint != given.fingerprint:
            raise input_error(
                "data.train: not the categories that the run began with",
                got=given.shown(),
                allowed=kept.shown(),
                fix="restore the data as it was, or start a new run with another --out",
            )
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"name": name, "id": number} for name, number in zip(given.names, given.ids, strict=True)]
    replace_file(path, (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode())
    return given


def load_categories(folder: Path) -> Categories:
    """The categories in a run's folder; InputError if they are missing or damaged."""
    path = folder / CATEGORIES_FILE
    with reading(path):
        text = path.read_text(encoding="utf-8")
    try:
        rows = json.loads(text)
        names, ids = tuple(row["name"] for row in rows), tuple(row["id"] for row in rows)
        sound = all(isinstance(name, str) for name in names) and all(type(each) is int for each in ids)
    except (ValueError, TypeError, KeyError):
        names, ids, sound = (), (), False
    if not sound or not names:
        raise input_error(
            f"{path}: no list of categories",
            got=text[:60],
            allowed='a JSON list of objects such as {"name": "line", "id": 1}',
            fix="restore the file of this run",
        )
    return Categories(names, ids)
