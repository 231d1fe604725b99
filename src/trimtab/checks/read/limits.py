"""How much is read at most: far more than a configuration has, far less than fills a memory or an afternoon.

How deep it may be nested, and how many values it may have, `config.yaml_bounds` says for recipes as well.
"""

from typing import Final

from trimtab.checks.read.lines import Lines
from trimtab.errors import input_error

MAX_BYTES: Final = 2_000_000
MAX_CODE: Final = 500_000
"""Characters of a script: a syntax tree takes some 500 times the memory of its text."""
MAX_CALLS: Final = 10_000
"""Calls or commands of one file; later ones are left out."""
MAX_RAW: Final = 2_000
"""Characters that an entry keeps of a value that is no scalar; longer ones are read at their place."""


def refuse_long_code(lines: Lines) -> None:
    """Raises InputError for a script beyond MAX_CODE."""
    if len(lines.text) > MAX_CODE:
        raise input_error(
            f"{lines.path}: too long for a script",
            got=f"{len(lines.text):,} characters",
            allowed=f"at most {MAX_CODE:,}",
            where=lines.path,
        )
