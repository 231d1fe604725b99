"""Fixed text back to its file, whole or not at all; and as a difference, for those who want to look first."""

import errno
import os
import stat
from pathlib import Path

from trimtab.errors import InputError, input_error, one_line


def text_of(path: str, data: bytes) -> str:
    """The characters of a file, line ends as they are; InputError for what is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise input_error(
            f"{path}: not fixed",
            got=f"a byte that is not UTF-8 at {error.start}",
            fix="save the file as UTF-8 first",
        ) from None


def write_text(path: Path, text: str, *, before: bytes | None = None) -> None:
    """Puts a text in the place of a file's, or makes the file; a link continues pointing to it, mode and owner stay.

    `before` is what was read from it: where something else stands there by now, nothing is written. Raises InputError
    for that, for a file whose owner cannot be kept and for one with several names (hard links), of which the others
    would keep the old text; OSError if the system refuses.
    """
    import tempfile

    real = path.resolve()
    known = _status(real)
    if known is not None and not os.access(real, os.W_OK):  # a new file in its place would be allowed
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    descriptor, draft = tempfile.mkstemp(dir=real.parent, prefix=".trimtab-")
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        if known is not None:
            _give_away(draft, known, path)
        os.chmod(draft, _new_mode() if known is None else stat.S_IMODE(known.st_mode))
        if before is not None and real.read_bytes() != before:
            raise _not_mended(path, "another program has changed it meanwhile", "run it again")
        os.replace(draft, real)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def difference(path: str, before: str, after: str) -> str:
    """As `diff -u` writes it; empty if nothing changed."""
    from difflib import unified_diff

    name, old, new = one_line(path), _with_ends(before), _with_ends(after)
    lines = unified_diff(old, new, f"{name} (as it is)", f"{name} (fixed)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ no line end\n" for line in lines)


def _status(real: Path) -> os.stat_result | None:
    try:
        return real.stat()
    except FileNotFoundError:
        return None


def _give_away(draft: str, known: os.stat_result, path: Path) -> None:
    """What `os.replace` would change about a file beside its text."""
    if known.st_nlink > 1:
        got = f"it has {known.st_nlink} names (hard links), and the others would keep the old text"
        raise _not_mended(path, got, "fix it by hand; `--diff` shows how")
    own = os.stat(draft)
    if (own.st_uid, own.st_gid) != (known.st_uid, known.st_gid):
        try:
            os.chown(draft, known.st_uid, known.st_gid)
        except PermissionError:
            got = "it is another user's or group's, and would become yours"
            raise _not_mended(path, got, "ask its owner to fix it; `--diff` shows how") from None


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _not_mended(path: Path, got: str, fix: str) -> InputError:
    return input_error(f"{path}: not written", got=got, fix=fix, where=str(path))


def _with_ends(text: str) -> list[str]:
    """As `diff` takes lines apart: at `\\n` alone."""
    return [*(line + "\n" for line in text.split("\n")[:-1]), *filter(None, text.split("\n")[-1:])]
