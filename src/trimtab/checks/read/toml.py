"""TOML to plain values, within bounds: a `pyproject.toml` is read along with files of strangers."""

import re
from typing import Any, Final

from trimtab.errors import input_error

MAX_BYTES: Final = 1_000_000
MAX_PARTS: Final = 64
"""Of one dotted key: the standard library takes a time that grows with the square of their number."""
_LONG_KEY = r"(?<![\w\"'-])[\w\"'-]++(?:[ \t]*+\.[ \t]*+[\w\"'-]++){" + str(MAX_PARTS) + "}"


def read_toml(path: str, text: str) -> dict[str, Any]:
    """The tables of a file; raises InputError for what is not TOML or has no bounds."""
    import tomllib

    if found := re.search(_LONG_KEY, text):
        where = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        raise input_error(f"{path}: a key of more than {MAX_PARTS} parts", where=where)
    try:
        return tomllib.loads(text)
    except ValueError as error:  # not TOML, or a number of too many digits
        raise input_error(f"{path}: not valid TOML", got=str(error)[:200], where=path) from None
    except RecursionError:
        raise input_error(
            f"{path}: nested too deeply",
            got="more brackets than Python can follow",
            allowed="TOML that Python can read",
            fix="take out brackets",
            where=path,
        ) from None
