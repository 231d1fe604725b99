"""Launch lines to calls: one for the script with its options, one for the launcher with its own."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.place import Place
from trimtab.checks.read.launchers import Launch, launch
from trimtab.checks.read.limits import MAX_CALLS, refuse_long_code
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.variables import see_through
from trimtab.checks.read.words import Word, split
from trimtab.errors import input_error

Span = Callable[[int, int], Place]

_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_ODD_OPTION = re.compile(r"--[A-Za-z][^\s=]*")
"""What argparse takes for an option by its dashes, whatever its name: no value of the one before."""
_PAIR = re.compile(r"(\+{0,2}|~)([A-Za-z_][\w.]*)=")


LEFT_OUT = "..."
"""What documentation writes for further options."""


def read_shell(path: str, text: str) -> Document:
    """Reads a script or a single line; raises InputError for a quote that is not closed."""
    lines = Lines(path, text)
    refuse_long_code(lines)
    found = split(text)
    if found.open_quote is not None:
        raise input_error(
            "a quote is opened and not closed", fix="close the quote", where=lines.where(found.open_quote)
        )
    return Document(
        path=path,
        syntax="shell",
        text=text,
        calls=calls_of(see_through(found.commands, text), lines.place),
        comments=tuple((lines.position(offset)[0], comment) for offset, comment in found.comments),
    )


def calls_of(commands: Sequence[Sequence[Word]], span: Span) -> tuple[Call, ...]:
    """The calls of commands; `span` tells places of the file that holds them."""
    calls: list[Call] = []
    for words in commands:
        for each in launch(words):
            if len(calls) < MAX_CALLS:
                calls.append(_call(each, span))
    return tuple(calls)


def _call(found: Launch, span: Span) -> Call:
    arguments: dict[str, Entry] = {}
    positional: list[Any] = []
    has_rest, words, at = False, found.words, 0
    while at < len(words):
        word = words[at]
        at += 1
        option = option_of(word)
        if option is not None:
            name, inline = option
            values = [inline] if inline else values_after(words, at)
            at += 0 if inline else len(values)
            arguments[_key(name)] = _entry(_key(name), word, values, span)
        elif word.text is not None and (pair := _PAIR.match(word.text)):
            value = Word(word.text[pair.end() :], *_after(word, pair.end()))
            arguments[pair[2]] = _entry(pair[2], word, [value], span)
        elif word.text is None and (pair := _PAIR.match(word.raw)):
            arguments[pair[2]] = _entry(pair[2], word, [Word(None, *_after(word, pair.end()))], span)
        else:
            has_rest = has_rest or word.text in (None, LEFT_OUT)
            positional.append(UNKNOWN if word.text is None else word.text)
    return Call(
        name=found.name,
        qualifier=found.launcher,
        arguments=arguments,
        positional=tuple(positional),
        has_rest=has_rest,
        place=span(found.start, found.end),
    )


def option_of(word: Word) -> tuple[str, Word | None] | None:
    """An option's name, and its value where it is written behind `=`."""
    written = word.raw if word.text is None else word.text
    found = _OPTION.match(written)
    if found is None:
        return None
    if word.text is not None and not any(character.isspace() for character in word.text):
        found = _ODD_OPTION.match(written) or found
    name, rest = found[0], written[found.end() :]
    if not rest:
        return name, None
    if not rest.startswith("="):
        return None
    value = None if word.text is None else rest[1:]
    return name, Word(value, *_after(word, found.end() + 1))


def values_after(words: Sequence[Word], at: int) -> list[Word]:
    """The words behind an option that are its values."""
    values: list[Word] = []
    for index in range(at, len(words)):
        word = words[index]
        is_pair = word.text is not None and not values and _PAIR.match(word.text)
        if option_of(word) is not None or word.text in ("--", LEFT_OUT) or is_pair:
            break
        values.append(word)
    return values


def _after(word: Word, length: int) -> tuple[int, int, str]:
    """Where a value stands inside its word; quotes around the whole word are left behind."""
    if word.text is not None and not word.raw.startswith(word.text[:length]):
        return word.start, word.end, word.raw
    return word.start + length, word.end, word.raw[length:]


def _key(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _entry(key: str, option: Word, values: Sequence[Word], span: Span) -> Entry:
    value: Any = [value.text for value in values]
    if not values:
        value = True
    elif any(text is None for text in value):
        value = UNKNOWN
    elif len(value) == 1:
        value = value[0]
    start, end = (values[0].start, values[-1].end) if values else (option.end, option.end)
    is_inline = bool(values) and option.start < start < option.end
    return Entry(
        key=key,
        value=value,
        raw=" ".join(value.raw for value in values),
        place=span(option.start, start - len("=") if is_inline else option.end),
        value_place=span(start, end),
    )
