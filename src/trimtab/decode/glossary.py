"""A glossary: source terms with the translations that they must have, found in lines at the borders of words."""

import logging
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.errors import InputError, Problem, input_error

MOST_PROBLEMS = 20
"""Lines of a file that a message lists."""
MOST_WARNINGS = 3
"""Terms with several lines of which the log warns."""
MOST_TARGETS = 16
"""Translations of one term."""
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""Letters of scripts that put no space between words, so that a term may begin and end anywhere."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A term and its translations."""

    source: str
    targets: tuple[str, ...]
    """Any one of them is right."""


class Glossary:
    """Terms, and where they are in a line.

    A term without an upper-case letter is found in any case, one with such a letter only as it is written, so that `IT`
    is not found in "it". Terms do not overlap: from left to right the longest is taken. White space of any kind and
    number is the same.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: dict[str, Entry] = {}
        for each in entries:
            source = " ".join(each.source.split())
            before = self.entries[source].targets if source in self.entries else ()
            targets = tuple(dict.fromkeys([*before, *(" ".join(target.split()) for target in each.targets)]))
            self.entries[source] = Entry(source, targets)
        self._by_first: dict[str, list[tuple[list[str], Entry]]] = {}
        for entry in self.entries.values():
            units = [unit for unit, _, _ in _units(entry.source)]
            self._by_first.setdefault(units[0].casefold(), []).append((units, entry))
        for found in self._by_first.values():
            found.sort(key=lambda each: (-len(each[0]), not _has_case(each[1].source)))

    def __len__(self) -> int:
        return len(self.entries)

    def rewritten(self, rewrite: Callable[[str], str]) -> "Glossary":
        """The glossary for lines that were rewritten so; a term of which nothing is left is left out."""
        changed = [
            Entry(rewrite(each.source), tuple(map(rewrite, each.targets))) for each in self.entries.values()
        ]
        return Glossary(each for each in changed if each.source.strip() and all(map(str.strip, each.targets)))

    def found_in(self, line: str) -> list[Entry]:
        """The terms of a line in their order, each once."""
        units = list(_units(line))
        found: dict[str, Entry] = {}
        place = 0
        while place < len(units):
            entry, size = self._longest(line, units, place)
            if entry is not None:
                found.setdefault(entry.source, entry)
            place += size
        return list(found.values())

    def _longest(
        self, line: str, units: Sequence[tuple[str, int, int]], place: int
    ) -> tuple[Entry | None, int]:
        for parts, entry in self._by_first.get(units[place][0].casefold(), ()):
            if place + len(parts) > len(units):
                continue
            text = " ".join(line[units[place][1] : units[place + len(parts) - 1][2]].split())
            same = text == entry.source or (
                not _has_case(entry.source) and text.casefold() == entry.source.casefold()
            )
            if same:
                return entry, len(parts)
        return None, 1


def checked_glossary(given: Mapping[str, str | Sequence[str]]) -> Glossary:
    """The glossary of a mapping from terms to one translation or several; InputError for what is none."""
    entries = []
    for source, targets in given.items():
        several = [targets] if isinstance(targets, str) else list(targets)
        texts = [source, *several]
        if not several or not all(isinstance(each, str) and each.strip() for each in texts):
            raise input_error(
                "glossary: a term without a translation, or one that is no text",
                got=f"{source!r}: {targets!r}"[:200],
                allowed='text to text, or to a list of texts: {"rudder": "Ruder", "car": ["Auto", "Wagen"]}',
                fix="give each term at least one translation, or leave it out",
            )
        entries.append(Entry(source, tuple(several)))
    return _not_empty(Glossary(entries), name="glossary")


def read_glossary(lines: Iterable[str], *, name: str) -> Glossary:
    """The glossary of lines `source<TAB>target`, with further targets behind further tabs; empty lines count for
    nothing, and a source on several lines has the targets of all. Raises InputError, with all lines that are wrong."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    places: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    num_wrong = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        source, *targets = (part.strip() for part in line.split("\t"))
        while targets and not targets[-1]:  # as spreadsheets write rows of different lengths
            targets.pop()
        if source and targets and all(targets) and len(targets) <= MOST_TARGETS:
            entries.append(Entry(source, tuple(targets)))
            places.setdefault(" ".join(source.split()), []).append((number, tuple(targets)))
            continue
        num_wrong += 1
        if num_wrong <= MOST_PROBLEMS:
            problems.append(_problem(name, number, line, targets))
    if problems:
        if num_wrong > MOST_PROBLEMS:
            problems.append(Problem(what=f"{name}: {num_wrong - MOST_PROBLEMS:,} further lines like these"))
        raise InputError(*problems)
    _warn_of_contradictions(places, name=name)
    return _not_empty(Glossary(entries), name=name)


def _warn_of_contradictions(
    places: Mapping[str, Sequence[tuple[int, tuple[str, ...]]]], *, name: str
) -> None:
    """Warns of terms whose lines have different targets: often two glossaries that were joined."""
    several = {term: found for term, found in places.items() if len({targets for _, targets in found}) > 1}
    for term, found in [*several.items()][:MOST_WARNINGS]:
        targets = " or ".join(dict.fromkeys(target for _, each in found for target in each))
        logging.getLogger("trimtab").warning(
            "%s: %r has different translations on lines %s; any of them is accepted: %s",
            name,
            term[:80],
            ", ".join(str(number) for number, _ in found[:MOST_PROBLEMS]),
            targets[:200],
        )
    if len(several) > MOST_WARNINGS:
        logging.getLogger("trimtab").warning(
            "%s: so have %d further terms", name, len(several) - MOST_WARNINGS
        )


def _problem(name: str, number: int, line: str, targets: list[str]) -> Problem:
    if "\t" not in line:
        what, fix = "has no tab", "put a tab between the term and its translation, no spaces"
    elif len(targets) > MOST_TARGETS:
        what, fix = f"has {len(targets)} translations", "leave the rarest out"
    else:
        what, fix = "has an empty field", "write both sides, or delete the line"
    return Problem(
        what=f"{name}: line {number} {what}",
        got=repr(line[:80]),
        allowed=f"source<TAB>target, with up to {MOST_TARGETS} targets, a tab before each",
        fix=fix,
        where=f"{name}:{number}",
    )


def _not_empty(glossary: Glossary, *, name: str) -> Glossary:
    if not len(glossary):
        raise input_error(
            f"{name}: has no terms",
            got="no line with a term",
            allowed="at least one line source<TAB>target",
            fix="add a term, or translate without a glossary",
        )
    return glossary


def with_capital(target: str) -> tuple[str, ...]:
    """The spellings of a target: as it is, and with a capital where it has none, for the beginning of a sentence."""
    capital = target[:1].upper() + target[1:]
    return (target,) if _has_case(target) or capital == target else (target, capital)


def holds(text: str, target: str) -> bool:
    """Whether a text has this term in it, at the beginning of a word; an ending may follow."""
    start = text.find(target)
    while start >= 0:
        if not start or not _in_word(text[start - 1]) or not _in_word(target[0]) or _unspaced(target[0]):
            return True
        start = text.find(target, start + 1)
    return False


def _has_case(term: str) -> bool:
    return any(character.isupper() for character in term)


def _units(text: str) -> Iterator[tuple[str, int, int]]:
    """Words, single letters of scripts without spaces, and single other characters, with where they start and end."""
    start = 0
    for place, character in enumerate(text):
        if _in_word(character) and not _unspaced(character):
            continue
        if start < place:
            yield text[start:place], start, place
        if not character.isspace():
            yield character, place, place + 1
        start = place + 1
    if start < len(text):
        yield text[start:], start, len(text)


def _in_word(character: str) -> bool:
    """Letters and digits with the marks that belong to them."""
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def _unspaced(character: str) -> bool:
    code = ord(character)
    return code > 0x0E00 and any(first <= code <= last for first, last in _UNSPACED)
