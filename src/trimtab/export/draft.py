"""A folder that appears when it is complete and proven, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.checkpoint.durable import sync_folder
from trimtab.checkpoint.room import failures_told, is_full
from trimtab.errors import input_error


def check_place(out: Path, *, run: Path) -> None:
    """Raises InputError where something is there already, or the place lies inside the run."""
    if os.path.lexists(out):
        raise input_error(
            f"--out {out}: is there already",
            got="a folder" if out.is_dir() else "a file",
            allowed="a name that is not taken, since an export never writes over anything",
            fix="name another folder, or remove this one",
        )
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(run)):
        raise input_error(
            f"--out {out}: lies inside the run",
            got=f"a folder in {run}",
            allowed="a folder outside it",
            fix="name another folder",
        )


@contextmanager
def draft_folder(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` that becomes `out` at the end, and is removed where an error ends the work.

    What a killed export left under the same name is removed first. Raises NoRoom where the disk is full, InputError
    where no folder can be made there.
    """
    draft = out.with_name(f".{out.name}.draft")
    with failures_told(str(out), folder=_existing(out)):
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
        except OSError as error:
            if is_full(error):
                raise
            raise input_error(
                f"--out {out}: no folder can be made there",
                got=error.strerror or str(error),
                allowed="a folder that you may write to",
                fix="name another folder",
            ) from None
        try:
            yield draft
            sync_tree(draft)
            check_place(out, run=draft)  # somebody else may have made it meanwhile
            os.rename(draft, out)
            sync_folder(out.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Every file and folder in it is on the disk when this returns."""
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(path))


def _existing(path: Path) -> Path:
    return next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
