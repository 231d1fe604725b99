"""Files of translators in XML, read unit by unit: what TMX and XLIFF have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from trimtab.data.compressed import unpacked
from trimtab.data.input_file import open_input
from trimtab.errors import InputError, input_error

Element = ElementTree.Element
Read = TypeVar("Read")
_PART_BYTES = 2**16
"""Of a line, what is parsed at a time."""


def units(
    path: Path, *, starts: Callable[[Element], None], read: Callable[[Element], Read | None], kind: str
) -> Iterator[tuple[int, Read]]:
    """What `read` makes of each element at its end, where it makes something of it, with the line of the file, from 1,
    on which the element begins; `starts` sees each at its start.

    An element that was read is forgotten, and so is what comes before it in its parent: memory holds one unit, however
    long the file. Raises InputError, with line and column, if the file (plain, .gz, .xz, .zst) is no XML; entities
    that swell are refused by the parser.
    """
    inside: list[tuple[int, Element]] = []
    with open_input(path) as file, unpacked(file, path=path) as content:  # type: ignore[arg-type]
        try:
            for line, event, element in _events(content):
                if event == "start":
                    starts(element)
                    inside.append((line, element))
                    continue
                began, _ = inside.pop()
                found = read(element)
                if found is not None:
                    yield began, found
                    if inside:
                        inside[-1][1].clear()
        except ElementTree.ParseError as error:
            line, column = error.position
            raise input_error(
                f"{path}: line {line} is not valid XML",
                got=str(error),
                allowed=kind,
                fix="export it again, or repair the line",
                where=f"{path}:{line}:{column + 1}",
            ) from None


def _events(content: BufferedReader) -> Iterator[tuple[int, str, Element]]:
    """Starts and ends of elements with the line, from 1, that ends what starts them. Each line is parsed as it is read,
    since the parser does not say where an element is."""
    parser = ElementTree.XMLPullParser(("start", "end"))
    flush = getattr(parser, "flush", lambda: None)  # where it is missing, expat does not wait for more
    number = 1
    while part := content.readline(_PART_BYTES):
        parser.feed(part)
        flush()
        yield from ((number, *event) for event in parser.read_events())
        number += part.endswith(b"\n")
    parser.close()
    yield from ((number, *event) for event in parser.read_events())


def text_in(element: Element, *, native: frozenset[str]) -> str:
    """The text of an element and of those inside it, without the content of `native` codes, which is markup of the
    program that wrote the text; sub-flows inside a code are texts of their own, and left out too."""
    return "".join(_texts(element, native))


def _texts(element: Element, native: frozenset[str]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = name_of(child)
        if name == "cp":  # a character that XML cannot hold, by its number
            yield _character(child)
        elif name not in native:
            yield from _texts(child, native)
        yield child.tail or ""


def _character(element: Element) -> str:
    try:
        character = chr(int(element.get("hex", ""), 16))
    except (ValueError, OverflowError):
        return ""
    return "" if "\ud800" <= character <= "\udfff" else character


OTHER_LANGUAGE, NOT_TRANSLATED, NOT_TO_TRANSLATE, OTHER_STATE = (
    "other_language",
    "not_translated",
    "not_to_translate",
    "other_state",
)
"""Why a unit is passed over."""


def name_of(element: Element) -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def code_of(text: str) -> str:
    """A language code as it is compared: in lower case, with hyphens."""
    return text.strip().lower().replace("_", "-")


def in_language(texts: Mapping[str, Sequence[str]], code: str) -> Sequence[str]:
    """The texts of a language: those of its code, else of its regions, such as `en-gb` of `en`."""
    if code in texts:
        return texts[code]
    return [text for each, several in texts.items() if each.startswith(f"{code}-") for text in several]


def language_codes(path: Path, *, source: str | int, target: str | int) -> tuple[str, str]:
    """The codes of two languages as they are written; InputError for a number, which names a column of a TSV."""
    for side, code in (("source", source), ("target", target)):
        if isinstance(code, int):
            raise input_error(
                f"{side}: got the number {code}, but {path} has languages with codes",
                got=str(code),
                allowed="a language code",
                fix=f"write the code of a language, such as {side}: en",
            )
    return str(source), str(target)


def no_unit_in(path: Path, languages: Sequence[str], found: Sequence[str]) -> InputError:
    """The error for a file with units, none of which has both languages."""
    return input_error(
        f"{path}: no unit has both languages",
        got=" and ".join(languages),
        allowed=", ".join(sorted(set(found)))[:300] or "languages that the file names",
        fix="name two of these languages as source and target",
    )
