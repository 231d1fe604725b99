"""A recipe being written: lines, a comment where each value comes from, and what could not be taken over."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, cast

from trimtab.checks.conversion.without_effect import PATTERNS, is_without_effect, says_nothing
from trimtab.checks.description import Description
from trimtab.checks.setting import Setting

_SIMPLE = re.compile(r"(?!(?i:null|true|false|yes|no|on|off|y|n)$)[A-Za-z_/][\w./+=~-]*", re.ASCII)
_UNPRINTABLE = re.compile(r"[^ -~\u00a1-\ud7ff\ue000-\ufffd]")
COLUMN = 46
"""Where comments begin, if the line is no longer."""


@dataclass(frozen=True, slots=True)
class RowTokens:
    """How long the rows of the data are, in tokens: an estimate."""

    whole: int
    counted: int
    """Those that the loss counts."""


@dataclass
class Draft:
    """Lines so far. Reading a concept or a key through it accounts for the setting."""

    run: Description
    title: str
    """What the tool is called: `OpenNMT-py`."""
    lines: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    notes: list[str] = field(default_factory=list[str])
    has_validation: bool = False
    """Whether a validation set is written."""
    row_tokens: RowTokens | None = None
    """Where the files of the data could be read."""
    counts_examples: bool = False
    """Whether `tokens_per_step` counts examples, as in classification."""

    def take(self, concept: str) -> Setting | None:
        """The setting of a concept, accounted for."""
        setting = self.run.setting(concept)
        return self.account(setting)

    def value(self, concept: str) -> Any:
        """The value of a concept, accounted for; None if it is unknown."""
        setting = self.take(concept)
        return None if setting is None else setting.value

    def key(self, *names: str) -> Setting | None:
        """The first of some keys of the tool that is written, accounted for."""
        return self.account(next((self.run.keys[name] for name in names if name in self.run.keys), None))

    def account(self, setting: Setting | None) -> Setting | None:
        """Counts a setting as taken over."""
        if setting is not None and setting.is_written:
            self.used.add(setting.key)
        return setting

    def say(self, text: str = "", *, level: int = 0, comment: str = "") -> None:
        """Writes a line; a level is two spaces."""
        line = "  " * level + text
        if comment:
            line = f"{line}{' ' * max(2, COLUMN - len(line)) if text else ''}# {plain(comment)}"
        self.lines.append(line)

    def put(
        self, key: str, value: Any, *, level: int = 0, source: Setting | None = None, why: str = ""
    ) -> None:
        """Writes `key: value`, its origin behind it."""
        comment = ", ".join(part for part in (self.origin(source), why) if part)
        self.say(f"{key}: {scalar(value)}", level=level, comment=comment)

    def origin(self, source: Setting | None) -> str:
        """Where a value comes from: the key, or that it is the tool's default."""
        if source is None:
            return ""
        if source.origin == "beside":
            return f"{source.key} of {PurePath(source.place.path).name}"
        return source.key if source.is_written else f"{self.title}'s default"

    def note(self, text: str) -> None:
        """Says something about the whole, in the file and beside it."""
        if text not in self.notes:
            self.notes.append(text)

    def unmatched(self) -> tuple[Setting, ...]:
        """What is written, and has no place in the recipe; a group of keys only where it is empty. Settings that say
        nothing, and those without an effect on what is learned, are left out."""
        return tuple(
            replace(setting, value=short(setting.value))
            for setting in self._rest()
            if not is_without_effect(self.run.tool, setting)
        )

    def without_effect(self) -> tuple[str, ...]:
        """Keys that are written, have no place in the recipe and need none."""
        return tuple(setting.key for setting in self._rest() if is_without_effect(self.run.tool, setting))

    def _rest(self) -> Iterator[Setting]:
        keys = self.run.keys
        groups = {key.rpartition(".")[0] for key in keys}
        says_little = self.run.tool in PATTERNS
        for key, setting in keys.items():
            if key in groups or key in self.used:
                continue
            if not says_little or not says_nothing(setting, self.run.table):
                yield setting


def plain(text: str) -> str:
    """One line of text that any reader of YAML takes in a comment."""
    return _UNPRINTABLE.sub("?", " ".join(text.split()))


def scalar(value: Any) -> str:
    """A value as YAML; text in quotes wherever it might be read as something else."""
    if isinstance(value, str):
        return value if _SIMPLE.fullmatch(value) else f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(scalar(item) for item in cast('list[Any]', value))}]"
    if isinstance(value, float):
        return number(value)
    return json.dumps(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isascii() and character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """Six digits, with a point or an exponent, so that it stays a number with a fraction."""
    text = f"{value:.6g}"
    return text if any(mark in text for mark in ".en") else f"{text}.0"


def short(value: Any) -> Any:
    """A value as it is, cut where it is long."""
    return value if not isinstance(value, str) or len(value) <= 60 else value[:57] + "..."
