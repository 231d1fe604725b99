"""Bytes of a line to text: strict UTF-8, with the place of what is not."""

from trimtab.data.lines import Lines
from trimtab.errors import InputError, input_error

_BYTE_ORDER_MARK = "\ufeff"


def text_of(lines: Lines, line: int) -> str:
    """Line `line` (from 0) as text, without a leading byte order mark on the first; InputError names line and byte."""
    raw = lines[line]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(lines, line, raw, error) from None
    if line == 0 and text.startswith(_BYTE_ORDER_MARK):
        return text[1:]
    return text


def _not_utf8(lines: Lines, line: int, raw: bytes, error: UnicodeDecodeError) -> InputError:
    bad = raw[error.start : max(error.end, error.start + 1)]
    if lines[0][:2] in (b"\xff\xfe", b"\xfe\xff"):
        fix = "the file looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8"
    else:
        fix = "repair or remove the line, or convert the file: iconv -f LATIN1 -t UTF-8"
    return input_error(
        f"{lines.path}: line {line + 1} is not UTF-8",
        got=f"byte{'s' * (len(bad) > 1)} {bad.hex(' ')} at byte {lines.start(line) + error.start} of the text, "
        f"{error.start} of the line (counted from 0)",
        allowed="UTF-8",
        fix=fix,
        where=f"{lines.path}:{line + 1}:{len(raw[: error.start].decode('utf-8')) + 1}",
    )
