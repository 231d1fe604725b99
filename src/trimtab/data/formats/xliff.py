"""Files of translation jobs in XLIFF 1.2 and 2.0: units with a source, and a target once they are translated.

Source: OASIS standards XLIFF 1.2 (2008) and XLIFF 2.0 (2014).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.data.formats.arrow import Rows
from trimtab.data.formats.markup import (
    NOT_TO_TRANSLATE,
    NOT_TRANSLATED,
    OTHER_LANGUAGE,
    OTHER_STATE,
    Element,
    code_of,
    language_codes,
    name_of,
    no_unit_in,
    text_in,
    units,
)
from trimtab.data.formats.pairs import PairFile
from trimtab.data.formats.table import TablePairs, open_rows
from trimtab.errors import InputError, input_error

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NATIVE_CODES = frozenset({"bpt", "ept", "it", "ph", "x", "bx", "ex", "sc", "ec", "sm", "em"})
"""Elements whose content, if they have any, is markup of the program that wrote the text, not text."""
_LAYOUT = "xliff 2"
"""Another way to read the files needs another word here."""
_NO_STATE = "none"
_HOLDERS = ("file", "group")
"""Elements around units, whose `translate` counts for those that say nothing themselves (XLIFF 2.0, 4.3.1.29)."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """A source and its target, with the languages and states that the file gives them; empty where it gives none."""

    source: str
    target: str
    languages: tuple[str, str]
    states: frozenset[str]


def open_xliff(
    path: Path, *, source: str | int, target: str | int, cache: Path, states: Sequence[str] = ()
) -> TablePairs:
    """The translated segments of a .xlf or .xliff file (also .gz, .xz, .zst) between two languages, by their codes, in
    either direction: `en` also means `en-GB`. A language that the file does not name is taken for the one asked for.

    Segments without a target, of other languages, marked as not to be translated (or in a group or
    file that is, unless they say otherwise), or in none of the `states` (where
    there are some) are passed over. In 1.2 the state of an approved unit is also `approved`, and `none` where the file
    says nothing. Raises InputError if the file is no XML, a language is a number, or nothing is left.
    """
    languages = language_codes(path, source=source, target=target)
    passed_over: Counter[str] = Counter()

    def read(columns: tuple[str, str]) -> Iterator[tuple[Any, ...]]:
        here = _Here(passed_over)
        seen_languages, seen_states = set[str](), set[str]()
        pairs = 0
        wanted = (code_of(columns[0]), code_of(columns[1]))
        found = units(path, starts=here.enter, read=here.unit, kind="translations in XLIFF")
        for line, segment in ((line, each) for line, several in found for each in several):
            seen_languages.update(segment.languages)
            sides = (segment.source, segment.target)
            if not _match(segment.languages, wanted):
                if not _match(segment.languages, wanted[::-1]):
                    passed_over[OTHER_LANGUAGE] += 1
                    continue
                sides = sides[::-1]
            seen_states.update(segment.states)
            if states and segment.states.isdisjoint(states):
                passed_over[OTHER_STATE] += 1
                continue
            pairs += 1
            yield (*sides, line)
        if seen_states and not pairs:
            raise _no_state(path, states, sorted(seen_states))
        if seen_languages and not pairs:
            raise no_unit_in(path, columns, list(seen_languages))

    rows = Rows((path,), read, (_LAYOUT, *states), passed_over, have_lines=True)
    return open_rows(rows, path, languages, cache)


@dataclass(slots=True)
class _Here:
    """Where in a file the parser is."""

    passed_over: Counter[str]
    languages: list[str] = field(default_factory=lambda: ["", ""])
    translated: list[bool] = field(default_factory=lambda: [True])
    """Of the files and groups around, the innermost last, whether their units are to be translated."""

    def enter(self, element: Element) -> None:
        """Notes the languages of a file, and what a file or group says of the units inside."""
        name = name_of(element)
        if name in _HOLDERS:
            self.translated.append(self._is_translated(element))
        match name:
            case "file" if "source-language" in element.attrib:
                self.languages = [
                    code_of(element.get(f"{side}-language", "")) for side in ("source", "target")
                ]
            case "xliff":
                self.languages = [code_of(element.get(name, "")) for name in ("srcLang", "trgLang")]
            case _:
                pass

    def unit(self, element: Element) -> list[_Segment] | None:
        """The translated segments of a unit; None where the element is none."""
        name = name_of(element)
        if name in _HOLDERS:
            self.translated.pop()
        if name not in ("trans-unit", "unit"):
            return None
        if not self._is_translated(element):
            self.passed_over[NOT_TO_TRANSLATE] += 1
            return []
        found = self._of_version_1(element) if name == "trans-unit" else self._of_version_2(element)
        translated = [each for each in found if each.target.strip()]
        self.passed_over[NOT_TRANSLATED] += not translated
        return translated

    def _is_translated(self, element: Element) -> bool:
        """As it says, else as what it lies in."""
        said = element.get("translate")
        return self.translated[-1] if said is None else said != "no"

    def _of_version_1(self, unit: Element) -> Iterator[_Segment]:
        source, target = _child(unit, "source"), _child(unit, "target")
        if source is None or target is None:
            return
        states = {target.get("state", "")} | ({"approved"} if unit.get("approved") == "yes" else set())
        marks = frozenset(states - {""}) or frozenset({_NO_STATE})
        languages = (self.languages[0], code_of(target.get(_LANGUAGE, "")) or self.languages[1])
        left, right = _marked(_child(unit, "seg-source")), _marked(target)
        parts = [(left[mid], right[mid]) for mid in left if mid in right] or [(source, target)]
        for one, other in parts:
            texts = [text_in(side, native=_NATIVE_CODES) for side in (one, other)]
            yield _Segment(texts[0], texts[1], languages, marks)

    def _of_version_2(self, unit: Element) -> Iterator[_Segment]:
        for segment in unit:
            source, target = _child(segment, "source"), _child(segment, "target")
            if name_of(segment) != "segment" or source is None or target is None:
                continue
            texts = [text_in(side, native=_NATIVE_CODES) for side in (source, target)]
            states = frozenset({segment.get("state", "initial")})
            yield _Segment(texts[0], texts[1], (self.languages[0], self.languages[1]), states)


def _child(element: Element, name: str) -> Element | None:
    return next((each for each in element if name_of(each) == name), None)


def _marked(element: Element | None) -> dict[str, Element]:
    """The segments that a source or target of version 1.2 is divided into, by their numbers."""
    if element is None:
        return {}
    return {
        mark.get("mid", ""): mark
        for mark in element.iter()
        if name_of(mark) == "mrk" and mark.get("mtype") == "seg"
    }


def _match(languages: tuple[str, str], wanted: tuple[str, ...]) -> bool:
    return all(
        not each or each == code or each.startswith(f"{code}-")
        for each, code in zip(languages, wanted, strict=True)
    )


def _no_state(path: Path, states: Sequence[str], found: Sequence[str]) -> InputError:
    return input_error(
        f"{path}: no translated unit is in one of these states",
        got=", ".join(states),
        allowed=", ".join(found)[:300],
        fix="name some of these as `states`, or leave it out to read all that have a target",
    )


FORMAT = PairFile((".xlf", ".xliff"), open_xliff, has_states=True)
