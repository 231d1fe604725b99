"""Message catalogues of GNU gettext: entries with a `msgid`, and a `msgstr` once they are translated.

Source: "The Format of PO Files", GNU gettext manual.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.data.compressed import unpacked
from trimtab.data.formats.arrow import Rows
from trimtab.data.formats.markup import NOT_TRANSLATED, OTHER_STATE
from trimtab.data.formats.pairs import PairFile
from trimtab.data.formats.table import TablePairs, open_rows
from trimtab.data.input_file import open_input
from trimtab.errors import InputError, input_error

_FIELD = re.compile(rb'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[(\d{1,3})\])\s*"(.*)"$', re.DOTALL)
_MORE = re.compile(rb'"(.*)"$', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_CHARSET = re.compile(rb"charset=([A-Za-z0-9._:-]+)")
_SIDES = ("msgid", "msgstr")
_STATES = ("translated", "fuzzy")
_LAYOUT = "po 2"
"""Another way to read the files needs another word here."""


def open_po(
    path: Path, *, source: str | int, target: str | int, cache: Path, states: Sequence[str] = ()
) -> TablePairs:
    """The translated entries of a .po file (also .gz, .xz, .zst); source and target are `msgid` and `msgstr`, or the
    other way around.

    Each plural form is a pair. Obsolete entries and those that are marked fuzzy are passed over; with `states: [fuzzy]`
    the fuzzy ones are read alone, with `[translated, fuzzy]` both. Raises InputError, with the line, for what is no PO.
    """
    sides = (str(source), str(target))
    if sorted(sides) != sorted(_SIDES):
        raise input_error(
            f"{path}: a message catalogue has no {' and '.join(repr(side) for side in sides if side not in _SIDES)}",
            got=f"source: {source}, target: {target}",
            allowed="msgid and msgstr",
            fix="write source: msgid, target: msgstr, or the other way around",
        )
    if unknown := [state for state in states if state not in _STATES]:
        raise input_error(
            f"{path}: a message catalogue has no such state",
            got=", ".join(unknown),
            allowed=" or ".join(_STATES),
            fix="leave `states` out to read what is translated",
        )

    passed_over: Counter[str] = Counter()

    def read(columns: tuple[str, str]) -> Iterator[tuple[Any, ...]]:
        charset = "utf-8"
        for entry in _entries(path):
            if entry.is_header:
                charset = _charset(path, entry)
                continue
            pairs = dict.fromkeys(_decoded(path, entry, pair, charset) for pair in entry.pairs)
            if not pairs:
                passed_over[NOT_TRANSLATED] += 1
            elif ("fuzzy" if entry.is_fuzzy else "translated") not in (states or _STATES[:1]):
                passed_over[OTHER_STATE] += 1
            else:
                for pair in pairs:
                    yield (*(pair if columns[0] == "msgid" else pair[::-1]), entry.line)

    rows = Rows((path,), read, (_LAYOUT, *states), passed_over, have_lines=True)
    return open_rows(rows, path, (sides[0], sides[1]), cache)


@dataclass(slots=True)
class _Entry:
    """One message."""

    line: int
    """Where it begins, from 1."""
    is_fuzzy: bool = False
    texts: dict[str, bytes] = field(default_factory=dict)
    translations: list[str] = field(default_factory=list)
    """Names of the fields with translations, in their order."""

    @property
    def is_header(self) -> bool:
        return self.texts.get("msgid") == b"" and "msgctxt" not in self.texts

    @property
    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Each form with its translation, where it has one; a language with one form has that of the plural."""
        forms = [self.texts.get("msgid", b""), self.texts.get("msgid_plural")]
        for number, name in enumerate(self.translations):
            is_plural = forms[1] is not None and (number > 0 or len(self.translations) == 1)
            form = forms[1] if is_plural else forms[0]
            if self.texts[name].strip() and form:
                yield form, self.texts[name]


def _entries(path: Path) -> Iterator[_Entry]:
    """All entries that are not obsolete, the header too."""
    entry, at = _Entry(1), ""
    with open_input(path) as file, unpacked(file, path=path) as content:  # type: ignore[arg-type]
        for number, raw in enumerate(content, 1):
            line = raw.removeprefix(codecs.BOM_UTF8).strip()
            if line.startswith(b"#~"):  # obsolete
                continue
            found = _FIELD.match(line)
            begins_next = line[:1] in (b"", b"#") or (found and found[1] in (b"msgctxt", b"msgid"))
            if begins_next and entry.translations:
                yield entry
                entry, at = _Entry(number), ""
            if line[:1] in (b"", b"#"):
                entry.is_fuzzy |= line.startswith(b"#,") and b"fuzzy" in re.split(rb"[,\s]+", line[2:])
            elif found:
                at, entry.line = found[1].decode(), entry.line if entry.texts else number
                entry.texts[at] = _unescaped(found[3])
                entry.translations += [at] if at.startswith("msgstr") else []
            elif at and (more := _MORE.match(line)):
                entry.texts[at] += _unescaped(more[1])
            else:
                raise _broken(path, number, line)
    if entry.translations:
        yield entry


def _unescaped(text: bytes) -> bytes:
    return _ESCAPE.sub(_character, text) if b"\\" in text else text


def _character(found: re.Match[bytes]) -> bytes:
    code = found[1]
    if code[:1].isdigit() and code < b"8":
        return bytes([int(code, 8) & 0xFF])
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    return _ESCAPED.get(code, code)


def _charset(path: Path, header: _Entry) -> str:
    found = _CHARSET.search(b" ".join(header.texts.values()))
    name = found[1].decode() if found else "utf-8"
    if name == "CHARSET":  # a template that was not filled in
        return "utf-8"
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise input_error(
            f"{path}: line {header.line} names an unknown charset",
            got=name,
            allowed="UTF-8, or another charset that Python knows",
            fix="convert the file by `msgconv --to-code=UTF-8`",
            where=f"{path}:{header.line}",
        ) from None


def _decoded(path: Path, entry: _Entry, pair: tuple[bytes, bytes], charset: str) -> tuple[str, str]:
    try:
        return pair[0].decode(charset), pair[1].decode(charset)
    except UnicodeDecodeError as error:
        raise input_error(
            f"{path}: the entry on line {entry.line} is not {charset}",
            got=str(error),
            allowed="the charset that the header names, UTF-8 without one",
            fix="correct the charset in the header, or convert the file by `msgconv --to-code=UTF-8`",
            where=f"{path}:{entry.line}",
        ) from None


def _broken(path: Path, line: int, text: bytes) -> InputError:
    return input_error(
        f"{path}: line {line} is no part of a message catalogue",
        got=repr(text[:60].decode("utf-8", errors="replace")),
        allowed='a comment, or msgid, msgstr ... and a text in quotation marks ("...")',
        fix="repair the line; `msgfmt --check` names all that are wrong",
        where=f"{path}:{line}",
    )


FORMAT = PairFile((".po",), open_po, has_states=True)
