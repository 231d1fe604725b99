"""Mended text back to its file, whole or not at all; and as a difference, for those who want to look first."""

import os
from pathlib import Path

from trimtab.errors import input_error


def text_of(path: str, data: bytes) -> str:
    """The characters of a file, line ends as they are; InputError for what is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise input_error(
            f"{path}: not mended",
            got=f"a byte that is not UTF-8 at {error.start}",
            fix="save the file as UTF-8 first",
        ) from None


def write_text(path: Path, text: str) -> None:
    """Puts a text in the place of a file's; its mode stays, and a link goes on pointing to it."""
    import tempfile

    real = path.resolve()
    descriptor, draft = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, real.stat().st_mode & 0o7777)
        os.replace(draft, real)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def difference(path: str, before: str, after: str) -> str:
    """As `diff -u` writes it; empty where nothing changed."""
    from difflib import unified_diff

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = unified_diff(old, new, f"{path} (as it is)", f"{path} (mended)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ no line end\n" for line in lines)
