"""What stands around a file: other files of its folder, and the versions of libraries that count for it."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from trimtab.checks.description import Version
from trimtab.checks.document import Document
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.read.document import read_document
from trimtab.checks.read.limits import MAX_BYTES
from trimtab.checks.versions import Versions
from trimtab.errors import InputError


def surroundings_of(path: str, *, asked: Mapping[str, Version] | None = None) -> Surroundings:
    """Of one file; `asked` are the versions of `--with`. Standard input (`-`) has the current folder around it."""
    folder = Path(path).parent if path != "-" else Path()
    return Surroundings(versions=Versions(folder, asked=asked or {}), beside=_beside(folder))


def _beside(folder: Path) -> Callable[[str], Document | None]:
    @cache
    def read(name: str) -> Document | None:
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts or "\0" in name:
            return None
        try:
            file = folder / inside
            if not file.is_file() or file.stat().st_size > MAX_BYTES:
                return None
            return read_document(str(file), file.read_bytes())
        except (OSError, InputError):
            return None

    return read
