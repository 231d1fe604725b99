"""Translation memories in TMX: units of one text in several languages, of which a corpus takes two.

Source: TMX 1.4b specification, Localization Industry Standards Association, 2005.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab.data.formats.arrow import Rows
from trimtab.data.formats.markup import (
    OTHER_LANGUAGE,
    Element,
    code_of,
    in_language,
    language_codes,
    name_of,
    no_unit_in,
    text_in,
    units,
)
from trimtab.data.formats.pairs import PairFile
from trimtab.data.formats.table import TablePairs, open_rows

_LANGUAGES = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
_NATIVE_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Elements whose content is markup of the program that wrote the text, not text."""
_LAYOUT = "tmx 3"
"""Another way to read the files needs another word here."""


def open_tmx(path: Path, *, source: str | int, target: str | int, cache: Path) -> TablePairs:
    """The units of a .tmx file (also .gz, .xz, .zst) that have both languages, by their codes: `en` also means `en-GB`
    where no variant has the code `en` itself. A unit with several variants of a language is as many pairs; units
    without one of the two are passed over.

    Raises InputError if the file is no XML, a language is a number, or no unit has one of them.
    """
    languages = language_codes(path, source=source, target=target)
    passed_over: Counter[str] = Counter()

    def read(columns: tuple[str, str]) -> Iterator[tuple[Any, ...]]:
        found: set[str] = set()
        pairs = 0
        for line, texts in units(path, starts=_ignore, read=_unit, kind="a translation memory in TMX"):
            found.update(texts)
            left, right = (in_language(texts, code_of(code)) for code in columns)
            passed_over[OTHER_LANGUAGE] += not (left and right)
            for one in left:
                for other in right:
                    pairs += 1
                    yield one, other, line
        if found and not pairs:
            raise no_unit_in(path, columns, list(found))

    return open_rows(Rows((path,), read, (_LAYOUT,), passed_over, have_lines=True), path, languages, cache)


def _ignore(element: Element) -> None:
    """Nothing is known before a unit is read."""


def _unit(element: Element) -> dict[str, list[str]] | None:
    """The different texts of a unit by the language code, in lower case; None where it is none."""
    if name_of(element) != "tu":
        return None
    texts: dict[str, list[str]] = {}
    for variant in element:
        code, text = _variant(variant)
        if code and text not in (several := texts.setdefault(code, [])):
            several.append(text)
    return texts


def _variant(element: Element) -> tuple[str, str]:
    """Language and text of a variant; no language where it is none."""
    if name_of(element) != "tuv":
        return "", ""
    code = next((element.attrib[key] for key in _LANGUAGES if key in element.attrib), "")
    segment = next((child for child in element if name_of(child) == "seg"), None)
    return code_of(code), "" if segment is None else text_in(segment, native=_NATIVE_CODES)


FORMAT = PairFile((".tmx",), open_tmx)
