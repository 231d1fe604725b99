"""Decodes lines from bytes: split at line feeds only, strict UTF-8, errors with the position of the byte."""

import logging
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from trimtab.errors import LONGEST_LINE_BYTES, line_too_long, not_utf8, utf16_of, utf16_text

MOST_WARNINGS = 3
"""Lines with a NUL of which the log warns."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@runtime_checkable
class BinaryLines(Protocol):
    """What is needed of a file that was opened in binary mode, or of standard input's buffer."""

    def readline(self, size: int, /) -> bytes:
        """Bytes up to and with the next line feed, at most `size`; none at the end."""
        ...


def read_lines(binary: BinaryLines, *, name: str = "input") -> Iterator[str]:
    r"""The lines of a binary stream, without `\n` and without one `\r` before it.

    A byte order mark at the beginning is dropped; a last line without a line feed counts; control characters are text
    like any other, and so are other line separators; a NUL is too, and the log warns of it. Raises InputError at the
    first line that is not UTF-8, that looks like UTF-16, or that is longer than `LONGEST_LINE_BYTES`, with `name`, line
    and offset; lines before it have been given.
    """
    offset = number = num_zeros = 0
    while raw := binary.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if len(raw) > LONGEST_LINE_BYTES and not raw.endswith(b"\n"):
            got = f"more than {LONGEST_LINE_BYTES:,} bytes without a line feed, from offset {offset} of the input"
            raise line_too_long(name, line=number, got=got)
        start = len(_BYTE_ORDER_MARK) if number == 1 and raw.startswith(_BYTE_ORDER_MARK) else 0
        if raw[start:]:
            line = _decoded(raw, start=start, name=name, number=number, offset=offset)
            if "\0" in line:
                if encoding := utf16_of(raw[start:], offset=offset + start):
                    raise utf16_text(encoding, name=name, line=number)
                num_zeros += 1
                _warn_of_zeros(name, number=number, count=num_zeros)
            yield line
        offset += len(raw)


def _warn_of_zeros(name: str, *, number: int, count: int) -> None:
    if count > MOST_WARNINGS:
        return
    more = "; of further lines nothing is said" if count == MOST_WARNINGS else ""
    logging.getLogger("trimtab").warning(
        "%s: line %d has a NUL character in it; it is kept (`tr -d '\\000'` removes them)%s",
        name,
        number,
        more,
    )


def _decoded(raw: bytes, *, start: int, name: str, number: int, offset: int) -> str:
    try:
        return raw[start:].removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        is_utf16 = number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise not_utf8(error, name=name, line=number, offset=offset + start, is_utf16=is_utf16) from None
