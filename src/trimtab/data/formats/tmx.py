"""Translation memories in TMX: units of one text in several languages, of which a corpus takes two.

Source: TMX 1.4b specification, Localization Industry Standards Association, 2005.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from trimtab.data.compressed import unpacked
from trimtab.data.formats.arrow import Rows
from trimtab.data.formats.pairs import PairFile
from trimtab.data.formats.table import TablePairs, open_rows
from trimtab.data.input_file import open_input
from trimtab.errors import input_error

_LANGUAGES = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
_NATIVE_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Elements whose content is markup of the program that wrote the text, not text."""


def open_tmx(path: Path, *, source: str | int, target: str | int, cache: Path) -> TablePairs:
    """The units of a .tmx file (also .gz, .xz, .zst) that have both languages, by their codes: `en` also means `en-GB`
    where no variant has the code `en` itself. Units without one of the two are passed over.

    Raises InputError if the file is no XML, a language is a number, or no unit has one of them.
    """
    languages = _codes(path, source=source, target=target)

    def read(columns: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
        found: set[str] = set()
        pairs = 0
        for texts in _units(path):
            found.update(texts)
            left, right = (_in_language(texts, code.lower()) for code in columns)
            if left is not None and right is not None:
                pairs += 1
                yield left, right
        if found and not pairs:
            raise input_error(
                f"{path}: no unit has both languages",
                got=" and ".join(columns),
                allowed=", ".join(sorted(found))[:300],
                fix="name two of these languages as source and target",
            )

    return open_rows(Rows((path,), read), path, languages, cache)


def _codes(path: Path, *, source: str | int, target: str | int) -> tuple[str, str]:
    for side, code in (("source", source), ("target", target)):
        if isinstance(code, int):
            raise input_error(
                f"{side}: got the number {code}, but {path} has languages with codes",
                got=str(code),
                allowed="a language code",
                fix=f"write the code of a language, such as {side}: en",
            )
    return str(source), str(target)


def _units(path: Path) -> Iterator[dict[str, str]]:
    """The texts of each unit by the language code, in lower case."""
    with open_input(path) as file, unpacked(file, path=path) as content:  # type: ignore[arg-type]
        try:
            for _, element in ElementTree.iterparse(content):
                if _name(element) == "tu":
                    yield {code: text for code, text in map(_variant, element) if code}
                    element.clear()
        except ElementTree.ParseError as error:
            line, column = error.position
            raise input_error(
                f"{path}: line {line} is not valid XML",
                got=str(error),
                allowed="a translation memory in TMX",
                fix="export it again, or repair the line",
                where=f"{path}:{line}:{column + 1}",
            ) from None


def _variant(element: ElementTree.Element) -> tuple[str, str]:
    """Language and text of a variant; no language where it is none."""
    if _name(element) != "tuv":
        return "", ""
    code = next((element.attrib[key] for key in _LANGUAGES if key in element.attrib), "")
    segment = next((child for child in element if _name(child) == "seg"), None)
    return code.lower(), "" if segment is None else "".join(_texts(segment))


def _texts(element: ElementTree.Element) -> Iterator[str]:
    """The text of a segment, without native codes; sub-flows inside a code are texts of their own and left out too."""
    yield element.text or ""
    for child in element:
        if _name(child) not in _NATIVE_CODES:
            yield from _texts(child)
        yield child.tail or ""


def _in_language(texts: dict[str, str], code: str) -> str | None:
    if code in texts:
        return texts[code]
    return next((text for each, text in texts.items() if each.startswith(f"{code}-")), None)


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


FORMAT = PairFile((".tmx",), open_tmx)
