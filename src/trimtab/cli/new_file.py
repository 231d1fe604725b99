"""Writes a text to the file of `--out`; never overwrites one."""

from pathlib import Path

from trimtab.cli.shell import is_full
from trimtab.errors import input_error


def write_new(out: Path, text: str) -> None:
    """Raises InputError if the file is there already or cannot be made; of a full disk nothing is left behind."""
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise input_error(
            f"--out {out}: already exists",
            got="a file or folder with this name",
            allowed="a new file",
            fix="name another file, or remove this one",
        ) from None
    except OSError as error:
        if is_full(error):
            out.unlink(missing_ok=True)
            raise
        raise input_error(
            f"--out {out}: cannot be written",
            got=error.strerror or str(error),
            allowed="a new file in a folder that exists",
            fix="create the folder, or name another file",
        ) from None
