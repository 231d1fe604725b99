"""Reads a file block by block, unpacking .gz and .xz on the way."""

import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from trimtab.errors import input_error

Packing = Literal["plain", "gzip", "xz"]

_BLOCK_BYTES = 1 << 20
_SUFFIXES: dict[str, Packing] = {".gz": "gzip", ".xz": "xz"}
_MAGIC: dict[bytes, Packing] = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz"}
_STRANGERS = {
    re.compile(rb"BZh[1-9]1AY&SY"): "bzip2",
    re.compile(rb"\x28\xb5\x2f\xfd"): "zstd",
    re.compile(rb"PK\x03\x04"): "zip",
}


def packing_of(path: Path, head: bytes) -> Packing:
    """How the file is packed, told from its first bytes: what is called .gz must be gzip, and gzip needs no name.

    Raises InputError where name and content differ, or for packings that are not read.
    """
    found: Packing = next((packing for magic, packing in _MAGIC.items() if head.startswith(magic)), "plain")
    said = _SUFFIXES.get(path.suffix.lower())
    if said is not None and found != said:
        raise input_error(
            f"{path}: the name says {said}, the content does not",
            got="0 bytes" if not head else f"{found} data" if found != "plain" else "something else",
            allowed=f"{said} data",
            fix="rename the file, or fetch it again",
        )
    if stranger := next((name for magic, name in _STRANGERS.items() if magic.match(head)), None):
        raise input_error(
            f"{path}: packed with {stranger}", allowed="plain text, .gz or .xz", fix="unpack it first"
        )
    return found


def read_blocks(file: BinaryIO, *, path: Path, packing: Packing) -> Iterator[bytes]:
    """The unpacked content in blocks that are not empty; InputError where it is damaged or cut short."""
    stream = {"plain": _as_it_is, "gzip": gzip.open, "xz": lzma.open}[packing](file)
    unpacked = 0
    try:
        while block := stream.read(_BLOCK_BYTES):
            yield block
            unpacked += len(block)
    except EOFError:
        raise input_error(
            f"{path}: the file is cut short",
            got=f"{unpacked} bytes unpacked, then its end",
            allowed=f"a complete {packing} file",
            fix="fetch or pack it again",
        ) from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise input_error(
            f"{path}: the file is damaged",
            got=f"{unpacked} bytes unpacked, then: {error}",
            allowed=f"a sound {packing} file",
            fix="fetch or pack it again",
        ) from None
    except OSError as error:  # a disk or a network that fails while reading
        raise input_error(f"{path}: cannot be read", got=error.strerror or str(error)) from None


def copied(blocks: Iterator[bytes], copy: BinaryIO) -> Iterator[bytes]:
    """The same blocks, each written to `copy` on the way."""
    for block in blocks:
        copy.write(block)
        yield block


def _as_it_is(file: BinaryIO) -> BinaryIO:
    return file
