"""What keys a tool knows: type, default, bounds, and what became of them; facts read from the tool's own source."""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal

from trimtab.checks.record import record

KeyType = Literal["number", "integer", "boolean", "text", "list", "mapping", "any"]


@record(kw_only=True)
class Key:
    """One key of a tool."""

    name: str
    """Dotted where nested; `*` stands for names of the user's choice: `data.*.path_src`."""
    types: tuple[KeyType, ...] = ("any",)
    default: Any = None
    has_default: bool = False
    choices: tuple[Any, ...] = ()
    """All values allowed; empty if open."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    above: int | float | None = None
    """Exclusive lower bound."""
    below: int | float | None = None
    """Exclusive upper bound."""
    unread: str = ""
    """Why nothing reads it, where nothing does."""
    open: bool = False
    """A mapping whose keys are not checked by anyone: never report what is in it, unless keys below are listed."""
    library: str = ""
    """Whose versions `since`, `renamed_in` and `removed_in` are; empty for the tool's own."""
    since: str = ""
    """First version that knows it; empty if always."""
    renamed_to: str = ""
    renamed_in: str = ""
    """Version from which the old name is an alias that warns."""
    removed_in: str = ""
    """Version from which it is refused."""
    advice: str = ""
    """What to write in its place, where that is not only a new name."""


@record(kw_only=True)
class KeyTable:
    """All keys of a tool's configuration at one version."""

    tool: str
    version: str
    source: str
    """Where the facts come from."""
    keys: Mapping[str, Key] = field(default_factory=dict[str, Key])
    unknown_keys: Literal["refused", "dropped", "kept"] = "refused"
    """What the tool itself does with a key that it does not know: an error, silence, or it may be meant for others."""

    abbreviations: bool = False
    """Whether the beginning of a key stands for it where no other key begins so, as argparse takes options."""
    _patterns: dict[int, list[tuple[tuple[str, ...], Key]]] = field(
        init=False, repr=False, compare=False, default_factory=dict[int, list[tuple[tuple[str, ...], Key]]]
    )
    """Keys with a wildcard by their number of parts, made when one is first looked for: a file may have thousands of
    keys to look up."""

    def key(self, dotted: str) -> Key | None:
        """The key of a dotted path, wildcards and, where the tool takes them, abbreviations matched."""
        if dotted in self.keys:
            return self.keys[dotted]
        parts = dotted.split(".")
        for pattern, key in self._patterns_of(len(parts)):
            if all(p in ("*", part) for p, part in zip(pattern, parts, strict=True)):
                return key
        return self._abbreviated(dotted) if self.abbreviations else None

    def _patterns_of(self, length: int) -> list[tuple[tuple[str, ...], Key]]:
        if not self._patterns:
            self._patterns[0] = []  # nothing has no parts: it only says that this was done
            for name in self.keys:
                if "*" in name:
                    pattern = tuple(name.split("."))
                    self._patterns.setdefault(len(pattern), []).append((pattern, self.keys[name]))
        return self._patterns.get(length, [])

    def _abbreviated(self, start: str) -> Key | None:
        names = (name for name in self.keys if name.startswith(start) and "." not in name)
        found = [key for name in names if not (key := self.keys[name]).removed_in]
        return found[0] if len(found) == 1 else None


def overlaid(table: KeyTable, keys: Mapping[str, Key]) -> KeyTable:
    """The table with some keys in place of its own, or beside them; those that are not asked for are never made."""
    return replace(table, keys=ChainMap({**keys}, table.keys))  # type: ignore[arg-type]
