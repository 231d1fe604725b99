"""Bytes of a line to text: strict UTF-8, with the place of what is not."""

from collections.abc import Iterator, Sequence

from trimtab.data.lines import Lines
from trimtab.errors import not_utf8, utf16_of, utf16_text

_BYTE_ORDER_MARK = "\ufeff"


def text_of(lines: Lines, line: int) -> str:
    """Line `line` (from 0) as text, without a leading byte order mark on the first; InputError names line and byte.

    So it does where the line looks like UTF-16; single NULs are text like any other.
    """
    try:
        text = lines[line].decode("utf-8")
    except UnicodeDecodeError as error:
        is_utf16 = lines[0][:2] in (b"\xff\xfe", b"\xfe\xff")
        name, offset = str(lines.path), lines.start(line)
        raise not_utf8(error, name=name, line=line + 1, offset=offset, is_utf16=is_utf16) from None
    if "\0" in text and (encoding := utf16_of(lines[line], offset=lines.start(line))):
        raise utf16_text(encoding, name=str(lines.path), line=line + 1)
    if line == 0 and text.startswith(_BYTE_ORDER_MARK):
        return text[1:]
    return text


def texts_of(lines: Lines, numbers: Sequence[int]) -> Iterator[str]:
    """What `text_of` gives for lines of these numbers, in their order, read many at a time."""
    for number, line in zip(numbers, lines.several(numbers), strict=True):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = text_of(lines, number)  # says what is wrong
        yield text_of(lines, number) if number == 0 or "\0" in text else text
