"""Checks that a path given to the Python interface can name a file or folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from trimtab.errors import input_error

RUN = "RUN, RUN@last, RUN@500, or the folder of an export"
"""What names a model."""
SHOWN = 60
"""Characters of a value that a message shows."""


def path_text(given: object, *, name: str, allowed: str) -> str:
    """The path as text; InputError, which calls it `name`, where it is neither text nor a path."""
    if isinstance(given, str | Path):
        return str(given)
    raise input_error(
        f"{name}: not a path",
        got=f"{type(given).__name__}: {given!r}"[:SHOWN],
        allowed=allowed,
        fix="give its path as a str or a pathlib.Path",
    )


def path_texts(given: object, *, name: str, allowed: str) -> list[str]:
    """The same for one path or several, at least one."""
    if isinstance(given, list | tuple) and given:
        return [path_text(each, name=name, allowed=allowed) for each in cast("Sequence[object]", given)]
    # An empty list names nothing.
    return [path_text(cast("object", given), name=name, allowed=allowed)]


def run_folder(recipe: Path | str, out: Path | str | None) -> Path:
    """Where the run of a recipe file lies: in `out`, or in `runs/` under the recipe's name."""
    return Path(out) if out is not None else Path("runs") / Path(recipe).stem
