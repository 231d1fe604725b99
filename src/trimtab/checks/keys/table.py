"""What a tool knows, from the JSON file of its name beside this one, told for the versions that count.

A file is made by `tools/read_keys.py` and looks so:

    {
      "tool": "trl",                          the word of `Description.tool`
      "library": "trl",                       whose version counts for this file's keys
      "version": "1.10.0",                    the release that the rows describe
      "source": "trl 1.10.0: trl/trainer/sft_config.py",
      "unknown_keys": "refused",              as in `KeyTable`
      "includes": ["transformers"],           tables whose keys it has too; its own rows win
      "drops": ["label_smoothing_factor"],    included keys that it has not
      "abbreviations": true,                  as in `KeyTable`; false where left out
      "keys": {
        "packing": {"types": ["boolean"], "default": false},
        "max_length": {"types": ["integer"], "default": 1024, "minimum": 1, "since": "0.18.0",
                       "before": {"0.20.0": {"default": 512}}}
      }
    }

A row has the fields of `Key`; a field left out has `Key`'s own default; a row with "default" has one. "before" says
what was otherwise before a version: a field with the value null was not there. Where the version is unknown, a field
that depends on it is not told (of types and choices all that ever were): a rule that needs it stays silent. Of a row
over an included one, "since" and "removed_in" say when the tool says otherwise than the table it includes.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from trimtab.checks.description import Version
from trimtab.checks.keytable import Key, KeyTable

NO_VERSIONS: Mapping[str, Version] = {}
_FIELDS = tuple(field.name for field in fields(Key))
_TUPLES = ("types", "choices")
_BOUNDS = ("minimum", "maximum", "above", "below")


def load_table(name: str, versions: Mapping[str, Version] = NO_VERSIONS) -> KeyTable:
    """The table of the file `name`.json; `versions` by library, as `Description.versions` has them."""
    return _table(name, tuple((library, versions.get(library)) for library in _libraries(name)))


def join_tables(*tables: KeyTable) -> KeyTable:
    """The keys of all; where they disagree about a default, nobody can say it."""
    keys: dict[str, Key] = {}
    for table in tables:
        for name, key in table.keys.items():
            other = keys.get(name)
            if other is None or (other.default, other.has_default) == (key.default, key.has_default):
                keys[name] = key
            else:
                keys[name] = replace(key, default=None, has_default=False, choices=_joined(other, key))
    return replace(tables[0], keys=keys, source="; ".join(table.source for table in tables))


def _joined(one: Key, other: Key) -> tuple[Any, ...]:
    return (*one.choices, *other.choices) if one.choices and other.choices else ()


def read_version(text: str) -> Version:
    """`5.24.0` as numbers; what follows the numbers (`.dev0`, `rc1`) is left out."""
    numbers: list[int] = []
    for part in text.strip().lstrip("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


@cache
def _file(name: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"{name}.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@cache
def _libraries(name: str) -> tuple[str, ...]:
    content = _file(name)
    included = (library for other in content.get("includes", ()) for library in _libraries(other))
    return tuple(dict.fromkeys((content["library"], *included)))


@cache
def _table(name: str, versions: tuple[tuple[str, Version | None], ...]) -> KeyTable:
    content, known = _file(name), dict(versions)
    version = known[content["library"]]
    return KeyTable(
        tool=content["tool"],
        version=".".join(map(str, version)) if version else content["version"],
        source=content["source"],
        keys=_Keys(content, known),
        unknown_keys=content["unknown_keys"],
        abbreviations=content.get("abbreviations", False),
    )


class _Keys(Mapping[str, Key]):
    """The keys of one file, each made from its row when it is first asked for: most never are."""

    def __init__(self, content: dict[str, Any], versions: Mapping[str, Version | None]) -> None:
        dropped = frozenset(content.get("drops", ()))
        self._library: str = content["library"]
        self._version = versions[self._library]
        self._rows: dict[str, dict[str, Any]] = content["keys"]
        self._inherited: dict[str, Mapping[str, Key]] = {}
        """By name, the keys of the included table that has it."""
        for other in content.get("includes", ()):
            table = _table(other, tuple((library, versions.get(library)) for library in _libraries(other)))
            self._inherited |= {name: table.keys for name in table.keys if name not in dropped}
        self._names = dict.fromkeys((*self._inherited, *self._rows))
        self._made: dict[str, Key] = {}

    def __getitem__(self, name: str) -> Key:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Key:
        if name not in self._rows:
            return self._inherited[name][name]
        key = _key(name, {"library": self._library, **self._rows[name]}, self._version)
        return _over(self._inherited[name][name], key, self._version) if name in self._inherited else key

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _over(inherited: Key, key: Key, version: Version | None) -> Key:
    """The tool's own word on a key that it takes from a library, from a version on or up to one."""
    dates = [read_version(date) if date else None for date in (key.since, key.removed_in)]
    since, until = dates
    own = replace(
        inherited,
        types=key.types,
        default=key.default,
        has_default=key.has_default,
        choices=key.choices,
        minimum=inherited.minimum if key.minimum is None else key.minimum,
        maximum=inherited.maximum if key.maximum is None else key.maximum,
        # What it defines itself it continues taking, whatever became of it in the library.
        removed_in=key.removed_in,
        renamed_to=key.renamed_to,
        renamed_in=key.renamed_in,
        advice=key.advice,
    )
    if version is not None:
        is_own = (since is None or version >= since) and (until is None or version < until)
        # `removed_in` counts the tool's own releases, and this one still has the key.
        return replace(own, removed_in="") if is_own else inherited
    if until is not None:
        # Today it is the library's, and so is what became of it; `removed_in` counts the tool's own releases.
        own = replace(inherited, types=tuple(dict.fromkeys((*inherited.types, *own.types))))
        own = replace(own, choices=_joined(inherited, key), default=key.default, has_default=key.has_default)
    if dates == [None, None] or (own.default, own.has_default) == (inherited.default, inherited.has_default):
        return own
    return replace(own, default=None, has_default=False)


def _key(name: str, row: Mapping[str, Any], version: Version | None) -> Key:
    told = {key: value for key, value in row.items() if key in _FIELDS}
    told["has_default"] = "default" in row
    for bound, earlier in _latest_first(row.get("before", {})):
        if version is None:
            _forget(told, earlier)
        elif version < read_version(bound):
            _overwrite(told, earlier)
    for field in _TUPLES:
        if field in told:
            told[field] = tuple(told[field])
    for field in _BOUNDS:
        if field in told:
            told[field] = float(told[field])
    return Key(name=name, **told)


def _latest_first(before: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return sorted(before.items(), key=lambda item: read_version(item[0]), reverse=True)


def _overwrite(told: dict[str, Any], earlier: Mapping[str, Any]) -> None:
    for field, value in earlier.items():
        if field == "has_default":
            told.pop("default", None)
            told["has_default"] = False
        elif field == "default":
            told |= {"default": value, "has_default": True}
        elif value is None:
            told.pop(field, None)
        else:
            told[field] = value


def _forget(told: dict[str, Any], earlier: Mapping[str, Any]) -> None:
    for field, value in earlier.items():
        if field in ("default", "has_default"):
            told.pop("default", None)
            told["has_default"] = False
        elif field in _TUPLES and value is not None and field in told:
            told[field] = list(dict.fromkeys((*told[field], *value)))
        else:
            told.pop(field, None)
