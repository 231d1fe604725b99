"""Bytes to text, or a message that says why not; before anything else looks at them."""

import re

from trimtab.checks.read.limits import MAX_BYTES
from trimtab.errors import input_error

_SURROGATE = re.compile("[\ud800-\udfff]")
_UTF_16 = "utf-16-le"


def decode(path: str, data: bytes) -> str:
    """The text, without a byte order mark; line ends as they are."""
    if len(data) > MAX_BYTES:
        raise input_error(
            f"{path}: too long for a configuration",
            got=f"more than {MAX_BYTES:,} bytes",  # whoever read it may have stopped there
            allowed=f"at most {MAX_BYTES:,}",
            where=path,
        )
    if (at := data.find(b"\0")) >= 0:
        raise input_error(
            f"{path}: not a text file",
            got="a zero byte",
            allowed="text in UTF-8",
            fix="was it saved in UTF-16, or is it a binary file?",
            where=f"{path}:{_line(data, at)}",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise input_error(
            f"{path}: not UTF-8",
            got=f"the byte 0x{data[error.start]:02X}",
            allowed="text in UTF-8",
            fix="save it again as UTF-8",
            where=f"{path}:{_line(data, error.start)}",
        ) from None


def printable(text: str) -> str:
    """Surrogates, which escapes can write and no output can take, as what pairs of them mean; halves as U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode(_UTF_16, "surrogatepass").decode(_UTF_16, "replace")


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
