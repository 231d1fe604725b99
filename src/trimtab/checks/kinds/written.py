"""What a part of a file says by a tool's own keys, and what the tool takes where the file says nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from trimtab.checks.document import UNKNOWN, Entry
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.place import Place
from trimtab.checks.record import record
from trimtab.checks.setting import Setting


@record(kw_only=True)
class Written:
    """Settings by the tool's own keys, without the prefix that `Setting.key` may have."""

    path: str
    settings: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    hidden: frozenset[str] = frozenset()
    """Keys that are written with something that is no literal."""
    table: KeyTable | None = None
    is_whole: bool = True
    """Whether nothing unseen can set a key: then what is not written has the tool's default."""
    prefix: str = ""
    """What `Setting.key` has before the key: `TrainingArguments.`."""

    def get(self, key: str) -> Setting | None:
        """The setting in force: written, or the tool's default; None if it cannot be known."""
        if key in self.settings:
            return self.settings[key]
        known = self.table.keys.get(key) if self.table else None
        if self.is_hidden(key) or not self.is_whole or known is None or not known.has_default:
            return None
        return self.default(key, known.default)

    def is_hidden(self, key: str) -> bool:
        """Whether a key, or an older name of it, is written with something that is no literal."""
        if key in self.hidden or self.table is None:
            return key in self.hidden
        keys = self.table.keys
        return any(name in keys and keys[name].renamed_to == key for name in self.hidden)

    def value(self, key: str) -> Any:
        """The value in force; None if it is unknown, too."""
        setting = self.get(key)
        return None if setting is None else setting.value

    def knows(self, key: str) -> bool:
        """Whether the value in force is known."""
        return self.get(key) is not None

    def default(self, key: str, value: Any) -> Setting:
        """A setting that the tool itself chooses."""
        return Setting(key=self.prefix + key, value=value, place=Place(self.path), origin="default")

    def set_default(self, key: str, value: Any, *, unless: Iterable[str] = ()) -> Setting | None:
        """The tool's choice where none of the keys that could say otherwise is written."""
        said = (key, *unless)
        if not self.is_whole or any(name in self.settings or self.is_hidden(name) for name in said):
            return None
        return self.default(key, value)


def settings_of(
    entries: Iterable[Entry], *, prefix: str = "", table: KeyTable | None = None, converts: bool = False
) -> dict[str, Setting]:
    """The literals among entries, by key without prefix; `converts` where the tool turns text into the key's type."""
    concepts: dict[str, Setting] = {}
    for entry in entries:
        if entry.value is not UNKNOWN:
            known = table.key(entry.key) if table and converts else None
            concepts[entry.key] = Setting(
                key=prefix + entry.key,
                value=converted(entry.value, known),
                place=entry.place,
                value_place=entry.value_place,
                raw=entry.raw,
                parsed=entry.value,
                is_option=entry.is_option,
            )
    return concepts


def hidden_in(entries: Iterable[Entry]) -> frozenset[str]:
    """Keys of entries that are no literals."""
    return frozenset(entry.key for entry in entries if entry.value is UNKNOWN)


def below(settings: Mapping[str, Setting], key: str) -> dict[str, Setting]:
    """Settings under a dotted key, by the rest of their path."""
    start = key + "."
    return {name[len(start) :]: setting for name, setting in settings.items() if name.startswith(start)}


def from_beside(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The same settings as read from another file of the folder."""
    return {name: replace(setting, origin="beside") for name, setting in settings.items()}


def prefixed(table: KeyTable, prefix: str) -> dict[str, Key]:
    """A table's keys as a script names them: `TrainingArguments.optim`."""
    return {
        prefix + name: replace(
            key, name=prefix + name, renamed_to=prefix + key.renamed_to if key.renamed_to else ""
        )
        for name, key in table.keys.items()
    }


def converted(value: Any, key: Key | None) -> Any:
    """What a parser that knows the key's type makes of text; the text itself where it makes nothing of it."""
    if key is None or not isinstance(value, str) or "text" in key.types or "any" in key.types:
        return value
    text = value.strip()
    if "boolean" in key.types and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if "integer" in key.types and (number := _integer(text)) is not None:
        return number
    if "number" in key.types and (real := as_number(text)) is not None:
        return real
    return value


def as_number(text: str) -> float | None:
    """A number in the spelling of Python, `1e-4` too."""
    try:
        return float(text)
    except ValueError:
        return None


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


_BOOLEANS = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}
