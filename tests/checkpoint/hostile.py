"""Checkpoints as somebody would make them who knows the format and wishes the reader ill: every hash is right."""

import hashlib
import json
import os
import struct
from pathlib import Path
from typing import Any

from trimtab.checkpoint.manifest import render

FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


def edit_manifest(checkpoint: Path, **changes: Any) -> None:
    """Another manifest with a hash of its own."""
    path = checkpoint / "manifest.json"
    fields = json.loads(path.read_bytes())
    fields.pop("digest")
    path.write_bytes(render({**fields, **changes}))


def reseal(checkpoint: Path) -> None:
    """Makes the manifest agree with whatever lies in the files now."""
    records = {}
    for name in FILES:
        with open(checkpoint / name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        records[name] = {"size": (checkpoint / name).stat().st_size, "sha256": digest}
    edit_manifest(checkpoint, files=records)


def put(checkpoint: Path, name: str, content: bytes) -> None:
    """Another content of one file, sealed."""
    (checkpoint / name).write_bytes(content)
    reseal(checkpoint)


def put_zeros(checkpoint: Path, name: str, count: int) -> None:
    """A file of zeros that takes no room on the disk, not sealed."""
    with open(checkpoint / name, "wb") as file:
        os.truncate(file.fileno(), count)


def tensor_file(header: Any, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A safetensors file with a header of one's own making; `length` is what it says about its header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape: list[Any], offsets: list[int], *, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def command_on_loading(sentinel: Path) -> bytes:
    """A pickle that makes a file when it is loaded, by protocol 0 so that no pickle is needed to write it."""
    return f"cposix\nsystem\n(S'touch {sentinel}'\ntR.".encode()


def surroundings(world: Path, *, but: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, moment of the last change and content of everything in a folder, but for what is in one of its folders."""
    found = {}
    for folder, folders, files in os.walk(world):
        folders[:] = [name for name in folders if Path(folder, name) != but]
        for path in [Path(folder, name) for name in (*folders, *files)]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path.relative_to(world))] = (status.st_mode, status.st_mtime_ns, content)
    return found
