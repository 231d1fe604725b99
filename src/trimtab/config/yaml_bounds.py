"""Limits of depth and size for YAML and JSON, shared by recipes and checked files.

Far more than a recipe or a configuration has, far less than fills a memory or an afternoon.
"""

from typing import Final

from trimtab.errors import InputError, input_error

MAX_DEPTH: Final = 100
"""Groups and lists inside one another, aliases written out."""
MAX_VALUES: Final = 100_000
"""Values of one file, aliases written out."""
LONGEST_PATHS: Final = 20_000_000
"""Characters of all dotted paths together: long keys around many keys would fill a memory."""


def too_deep(where: str) -> InputError:
    """The error of a group or list at a level beyond `MAX_DEPTH`."""
    return input_error(
        "nested too deeply",
        got=f"a level {MAX_DEPTH + 1}",
        allowed=f"at most {MAX_DEPTH} levels",
        fix="look for brackets that are opened repeatedly, and remove levels",
        where=where,
    )


def paths_too_long(where: str) -> InputError:
    """The error of a file whose dotted paths together are beyond `LONGEST_PATHS`."""
    return too_many(where, got="long keys around very many")


def too_many(where: str, *, got: str = f"more than {MAX_VALUES:,}, aliases written out") -> InputError:
    """The error of a file with more than `MAX_VALUES`, or with keys beyond all length."""
    return input_error(
        "too many values",
        got=got,
        allowed=f"at most {MAX_VALUES:,}, aliases written out",
        fix="put data into a separate file; nest fewer aliases",
        where=where,
    )
