"""Rows of several versions as one: since when a key is there, until when, and what was otherwise before.

Where versions between two trees were not read, each date is the one that makes fewer claims: a key is called new only
in versions older than the last tree without it, and removed only from the first tree without it on.
"""

from itertools import pairwise

from key_readers.tree import Row, Rows, Tree


def with_history(read: list[tuple[Tree, Rows]]) -> Rows:
    """The rows of the newest tree (the last one) and of keys that older ones had."""
    versions = [tree.version for tree, _ in read]
    names = dict.fromkeys(name for _, rows in reversed(read) for name in rows)
    return {name: _row([rows.get(name) for _, rows in read], versions) for name in names}


def _row(rows: list[Row | None], versions: list[str]) -> Row:
    present = [index for index, row in enumerate(rows) if row is not None]
    first, last = present[0], present[-1]
    row = dict(rows[last] or {})
    if first > 0:
        row["since"] = _next(versions[first - 1], versions[first])
    if last < len(rows) - 1:
        row["removed_in"] = _line(versions[last + 1])
    before: dict[str, Row] = {}
    for older, newer in pairwise(present):
        if changed := _changes(rows[older] or {}, rows[newer] or {}):
            before[_line(versions[newer])] = changed
    return {**row, "before": before} if before else row


def _changes(older: Row, newer: Row) -> Row:
    changed: Row = {}
    for field in dict.fromkeys((*older, *newer)):
        if older.get(field, ...) == newer.get(field, ...):
            continue
        if field == "default" and field not in older:
            changed["has_default"] = False
        else:
            changed[field] = older.get(field)
    return changed


def _line(version: str) -> str:
    major, minor = version.split(".")[:2]
    return f"{major}.{minor}.0"


def _next(older: str, newer: str) -> str:
    major, minor = older.split(".")[:2]
    return f"{major}.{int(minor) + 1}.0" if newer.split(".")[0] == major else f"{newer.split('.')[0]}.0.0"
