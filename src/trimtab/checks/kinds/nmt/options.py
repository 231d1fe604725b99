"""Options of a command as its tool spells them: with dashes, short ones by their long names, values by their types."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.kinds.concept_map import is_list
from trimtab.checks.kinds.written import Written, converted, hidden_in, settings_of
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting

_GLUED = re.compile(r"-([A-Za-z])(\d[\w.]*)")
"""`-b12`: a short option and its value in one word."""
_LITERAL = re.compile(r"[\w.,:/@%=+-]+")
_PAIR = re.compile(r"\+{0,2}([A-Za-z_][\w.]*)=(.*)")
_OVERRIDE = "+~"
"""What Hydra allows before a key: added, removed."""


def written_options(
    call: Call, document: Document, table: KeyTable, short: Mapping[str, str], *, is_whole: bool = True
) -> Written:
    """The options of a command; a variable behind another option's values may hold more of them."""
    given = list(_entries(call, document, short))
    entries = [_alone(entry, table) for entry in given]
    if table.abbreviations:
        entries = [_in_full(entry, table) for entry in entries]
    return Written(
        path=document.path,
        settings=_under_new_names(typed(settings_of(entries, table=table, converts=True), table), table),
        hidden=hidden_in(entries) | _meant(entries, table),
        table=table,
        is_whole=is_whole and not call.has_rest and not any(map(_may_hold_options, given)),
    )


def as_saved(settings: Mapping[str, Setting], table: KeyTable) -> dict[str, Setting]:
    """Settings of a file that a tool has saved whole: what is as the tool has it by itself counts as its default."""
    return {
        name: replace(setting, origin="default") if _is_default(setting.value, table.key(name)) else setting
        for name, setting in settings.items()
    }


def _is_default(value: Any, key: Key | None) -> bool:
    if key is None or not key.has_default:
        return False
    return value == key.default or (
        value in (None, [], "", 0, False) and key.default in (None, [], "", 0, False)
    )


def typed(settings: Mapping[str, Setting], table: KeyTable) -> dict[str, Setting]:
    """Lists with their members read as the key's type: `[0.9, "1e-09"]` of YAML, three words of a command line."""
    concepts: dict[str, Setting] = {}
    for name, setting in settings.items():
        key = table.key(name)
        concepts[name] = setting if key is None else replace(setting, value=_typed(setting.value, key))
    return concepts


def _typed(value: Any, key: Key) -> Any:
    if not is_list(value) or not {"number", "integer", "boolean"} & set(key.types):
        return value
    scalar = replace(key, types=tuple(name for name in key.types if name not in ("list", "text")))
    return [converted(item, scalar) for item in value]


def _entries(call: Call, document: Document, short: Mapping[str, str]) -> Iterator[Entry]:
    for entry in call.arguments.values():
        spelled = _spelled(document.text, entry.place)
        glued = _GLUED.fullmatch(spelled)
        if glued and glued[1] in short:
            yield replace(entry, key=short[glued[1]], value=glued[2], raw=glued[2])
            continue
        is_short = spelled.startswith("-") and not spelled.startswith("--")
        name = spelled.lstrip("-" + _OVERRIDE) or entry.key.replace("_", "-")
        yield from _with_overrides(replace(entry, key=short.get(name, name) if is_short else name))


def _with_overrides(entry: Entry) -> Iterator[Entry]:
    """An option, and what Hydra sets behind its value: `--config-name base optimization.lr=[0.0005]`."""
    values = [str(word) for word in entry.value] if is_list(entry.value) else []
    pairs = [_PAIR.fullmatch(value) for value in values[1:]]
    if not values or not all(pairs) or not pairs:
        yield entry
        return
    yield replace(entry, value=values[0])
    for pair in pairs:
        if pair is not None:
            yield replace(entry, key=pair[1], value=pair[2], raw=pair[2])


def _spelled(text: str, place: Place) -> str:
    """The option's own characters; its key in the document has underscores whatever it has."""
    if place.end_line != place.line:
        return ""
    begin = 0
    for _ in range(place.line - 1):
        begin = text.find("\n", begin) + 1
    return text[begin + place.column - 1 : begin + place.end_column - 1]


def _under_new_names(settings: dict[str, Setting], table: KeyTable) -> dict[str, Setting]:
    """With what older names of options say also under the newest, read by its type."""
    for name, setting in tuple(settings.items()):
        old = table.keys.get(name)
        if old is not None and old.renamed_to and old.renamed_to not in settings:
            value = converted(setting.value, table.keys[old.renamed_to])
            settings[old.renamed_to] = replace(setting, value=value)
    return settings


def _meant(entries: Iterable[Entry], table: KeyTable) -> frozenset[str]:
    """The options that misspelled ones were meant to be: they are not left out, and no default speaks for them."""
    unknown = [entry.key for entry in entries if table.key(entry.key) is None]
    if not unknown:
        return frozenset()
    from trimtab.checks.nearest import nearest  # only where a key is unknown

    return frozenset(nearest(name, table.keys) for name in unknown)


def loose_words(call: Call, document: Document, table: KeyTable, short: Mapping[str, str]) -> list[str]:
    """Words that are no option's value: those of the command, and those behind a switch or a value that is one word."""
    words = [word for word in call.positional if isinstance(word, str)]
    for entry in _entries(call, document, short):
        value = entry.value
        taken = 0 if _alone(entry, table).value is True else 1
        if _alone(entry, table).value is not value:
            values = [str(word) for word in value] if is_list(value) else [str(value)]
            words += values[taken:]
    return words


def _alone(entry: Entry, table: KeyTable) -> Entry:
    """A switch without the word behind it, another option with its first word, unless it is one that takes several."""
    key, value = table.key(entry.key), entry.value
    if entry.key == "config" and value is UNKNOWN:
        # `-c config.yml $GPUS`: the variable holds options.
        files = [word for word in entry.raw.split() if not set(word) & set("$`\"'{")]
        return replace(entry, value=files) if files else entry
    first = entry.raw.split()[0] if entry.raw.strip() else ""
    if key is not None and value is UNKNOWN and len(entry.raw) > len(first) and _LITERAL.fullmatch(first):
        value = [first]  # what a variable behind it holds is another option, or none
    if key is None or value is UNKNOWN or value is True or {"any", "list"} & set(key.types):
        return entry
    first = str(value[0]) if is_list(value) else str(value)
    if key.types == ("boolean",) and first.lower() not in _TRUTHS:
        return replace(entry, value=True)
    return replace(entry, value=first) if isinstance(value, list) else entry


_TRUTHS = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0"))


def _in_full(entry: Entry, table: KeyTable) -> Entry:
    known = table.key(entry.key)
    return entry if known is None else replace(entry, key=known.name)


def _may_hold_options(entry: Entry) -> bool:
    is_unseen = entry.value is UNKNOWN
    return is_unseen and (" " in entry.raw or "@" in entry.raw or "$*" in entry.raw)
