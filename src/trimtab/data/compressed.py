"""Reads a file block by block, unpacking .gz, .xz and .zst on the way."""

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

from trimtab.data.zstd_stream import Reads, ZstdStream, zstd_library
from trimtab.errors import input_error

Compression = Literal["plain", "gzip", "xz", "zstd"]

_BLOCK_BYTES = 1 << 20
_HEAD_BYTES = 16
_SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
_MAGIC: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_STRANGERS = {
    re.compile(rb"BZh[1-9]1AY&SY"): "bzip2",
    re.compile(rb"PK\x03\x04"): "zip",
}


def compression_of(path: Path, head: bytes) -> Compression:
    """How the file is packed, told from its first bytes: what is called .gz must be gzip, and gzip needs no name.

    Raises InputError if name and content differ, or for packings that are not read.
    """
    plain: Compression = "plain"
    found = next((compression for magic, compression in _MAGIC.items() if head.startswith(magic)), plain)
    said = _SUFFIXES.get(path.suffix.lower())
    if said is not None and found != said:
        raise input_error(
            f"{path}: the name says {said}, but the content is different",
            got="0 bytes" if not head else f"{found} data" if found != "plain" else "something else",
            allowed=f"{said} data",
            fix="rename the file, or fetch it again",
        )
    if stranger := next((name for magic, name in _STRANGERS.items() if magic.match(head)), None):
        raise input_error(
            f"{path}: packed with {stranger}", allowed="plain text, .gz, .xz or .zst", fix="unpack it first"
        )
    return found


def read_blocks(file: BinaryIO, *, path: Path, compression: Compression) -> Iterator[bytes]:
    """The unpacked content in blocks that are not empty; InputError if it is damaged or cut short."""
    stream = _opened(file, compression)
    unpacked = 0
    try:
        while block := stream.read(_BLOCK_BYTES):
            yield block
            unpacked += len(block)
    except EOFError:
        raise input_error(
            f"{path}: the file is cut short",
            got=f"{file.tell():,} bytes, then the end of the file within its {compression} data",
            allowed=f"a complete {compression} file",
            fix="fetch or pack it again",
        ) from None
    except _damage(compression) as error:
        raise input_error(
            f"{path}: the file is damaged",
            got=f"{unpacked:,} bytes unpacked, then: {error}",
            allowed=f"an intact {compression} file",
            fix="fetch or pack it again",
        ) from None
    except OSError as error:  # a disk or a network that fails while reading
        raise input_error(f"{path}: cannot be read", got=error.strerror or str(error)) from None


def unpacked(file: io.BufferedReader, *, path: Path) -> io.BufferedReader:
    """The file's unpacked content as a file to read once; the file itself where it is plain or no regular file.

    Raises InputError as `packing_of` does, and while it is read as `read_blocks` does.
    """
    if not file.seekable():
        return file
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    compression = compression_of(path, head)
    if compression == "plain":
        return file
    return io.BufferedReader(_Unpacked(read_blocks(file, path=path, compression=compression)), _BLOCK_BYTES)


def copied(blocks: Iterator[bytes], copy: BinaryIO) -> Iterator[bytes]:
    """The same blocks, each written to `copy` on the way."""
    for block in blocks:
        copy.write(block)
        yield block


class _Unpacked(io.RawIOBase):
    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        size = min(len(self._rest), len(buffer))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _opened(file: BinaryIO, compression: Compression) -> Reads:
    match compression:
        case "plain":
            return file
        case "gzip":
            return gzip.open(file)
        case "xz":
            return lzma.open(file)
        case "zstd":
            return ZstdStream(file)


def _damage(compression: Compression) -> tuple[type[Exception], ...]:
    if compression == "zstd":
        return (zstd_library().ZstdError,)
    return gzip.BadGzipFile, zlib.error, lzma.LZMAError
