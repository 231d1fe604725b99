"""The folder that a command fills with images."""

from pathlib import Path

from trimtab.errors import input_error


def check_new(out: Path) -> None:
    """InputError for a file, and for a folder that is not empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise input_error(
            f"{out}: is not empty" if out.is_dir() else f"{out}: is a file",
            got=str(out),
            allowed="a folder that does not exist, or is empty",
            fix="choose another --out, or remove it",
        )
