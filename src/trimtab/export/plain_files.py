"""Files of a folder of unknown origin: read only if they are plain files, small enough, and inside it."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from trimtab.errors import InputError, input_error, reading, unreadable

JSON_BYTES = 2**20
"""Settings of a model take a few kilobytes."""


def plain_file(folder: Path, name: str, *, most: int | None = None) -> Path:
    """The path of a file of the folder; InputError for a name or a link that leaves it, for what is no plain file, and
    for one of more than `most` bytes. Nothing is opened, so that a pipe holds nobody up."""
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
        raise _refused(path, got=f"the name {name!r}", allowed="a file of the folder itself")
    try:
        mode = path.stat()
    except PermissionError as error:
        raise unreadable(error, path) from None
    except OSError as error:
        raise _refused(path, got=error.strerror or str(error)) from None
    if not stat.S_ISREG(mode.st_mode):
        raise _refused(path, got="a folder" if stat.S_ISDIR(mode.st_mode) else "a pipe or a device")
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise _refused(path, got="a link that leaves the folder")
    if most is not None and mode.st_size > most:
        raise _refused(path, got=f"{mode.st_size:,} bytes", allowed=f"at most {most:,} bytes")
    return path


def write_object(path: Path, content: Any) -> None:
    """Writes plain data as JSON, as the libraries that read it do."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def read_object(folder: Path, name: str) -> dict[str, Any]:
    """The JSON object in a file of the folder; InputError if there is none."""
    path = plain_file(folder, name, most=JSON_BYTES)
    try:
        with open(path, "rb") as file:
            content = json.loads(file.read(JSON_BYTES + 1))
    except PermissionError as error:
        raise unreadable(error, path) from None
    except OSError as error:
        raise _refused(path, got=error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        nested = "brackets too deep" if isinstance(error, RecursionError) else str(error)
        raise _refused(path, got=f"no valid JSON: {nested}", allowed="a JSON object") from None
    if not isinstance(content, dict):
        raise _refused(path, got=f"other keys: {type(content).__name__}", allowed="a JSON object")
    return content


def sha256_of(path: Path) -> str:
    """The fingerprint of a file, in hexadecimal digits."""
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refused(path: Path, *, got: str, allowed: str = "a file as the export wrote it") -> InputError:
    return input_error(
        f"{path}: not a file of an export", got=got, allowed=allowed, fix="export the run again"
    )
