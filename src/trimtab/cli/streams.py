"""Text in and text out: a file by name, or the standard streams; an output file appears whole or not at all."""

import errno
import io
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from trimtab.cli.output_place import not_writable
from trimtab.cli.shell import is_full
from trimtab.errors import DiskFull, input_error


@contextmanager
def opened_input(path: Path | None, *, option: str = "--input") -> Generator[BinaryIO, None, None]:
    """Bytes of a file (unpacked where it is .gz, .xz or .zst) or a pipe, or of stdin where no path is given.

    Raises InputError, with the option's name, where it cannot be opened.
    """
    if path is None:
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except FileNotFoundError:
        if path.is_symlink():
            raise input_error(
                f"{option} {path}: a broken link",
                got=f"a link to {os.readlink(path)}, which is not there",
                allowed="a text file",
                fix="repair the link, or name the file itself",
            ) from None
        from trimtab.config.nearest import did_you_mean, nearest_words

        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        near = [str(path.with_name(name)) for name in nearest_words(path.name, names, cutoff=0.7)[:2]]
        pipe = ", or leave --input out and pipe text in" if option == "--input" else ""
        fix = did_you_mean(near) or f"name a file that exists{pipe}"
        raise input_error(
            f"{option} {path}: no such file",
            got="no file or folder at this path",
            allowed="a text file",
            fix=fix,
        ) from None
    except OSError as error:
        got = error.strerror or str(error)
        raise input_error(
            f"{option} {path}: cannot be read", got=got, allowed="a text file", fix="name another file"
        ) from None
    with file:
        from trimtab.data.compressed import unpacked

        yield unpacked(file, path=path)


@contextmanager
def opened_output(path: Path | None, *, option: str = "--output") -> Generator[TextIO, None, None]:
    """UTF-8 text to a file or to stdout; a regular file takes its name only once it is complete and on the disk."""
    if path is None:
        yield from _standard_output()
    elif (
        path.exists() and not path.is_file() and not path.is_dir()
    ):  # a pipe or a device has no other name to take
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
    else:
        yield from _whole_file(path, option)


def _standard_output() -> Iterator[TextIO]:
    if getattr(sys.stdout, "name", "") == os.devnull:  # by `main`: a shell's `> /dev/null` is named otherwise
        raise input_error(
            "standard output is closed, so the result would be lost",
            got=">&-",
            allowed="a terminal, a pipe or a file",
            fix="leave it open, or name a file with --output",
        )
    text = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
    try:
        yield text
        text.flush()
    finally:
        with suppress(BrokenPipeError):  # told by the flush above, or by a write before it
            text.detach()


def _whole_file(path: Path, option: str) -> Iterator[TextIO]:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        file = draft.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        if is_full(error):
            raise
        raise not_writable(path, error, option=option) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        if is_full(error):
            raise DiskFull(
                f"{path}: the disk is full; nothing was written there\n"
                f"  fix     free some space, or name a file on another disk"
            ) from None
        raise
    finally:
        draft.unlink(missing_ok=True)
