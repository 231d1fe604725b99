"""Decompresses .zst frame by frame, so that truncation is detected."""

from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from trimtab.errors import input_error

_FEED_BYTES = 1 << 11
"""Packed bytes handed to the library at once; each 4 of them may be a block of 128 KiB, so this bounds memory."""


@runtime_checkable
class Reads(Protocol):
    """A binary file, as far as it matters here."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class ZstdStream:
    """Reads like a binary file: the content of all frames, one after another.

    Raises EOFError if a frame is not complete, and the library's `ZstdError` where its bytes are wrong, as `gzip`
    and `lzma` do with theirs. The library's own stream takes a cut file for a complete one.
    Source: RFC 8878, section 3 (frames, skippable frames).
    """

    def __init__(self, file: Reads) -> None:
        self._file = file
        self._library = zstd_library()
        self._frame: Any = None
        self._packed = b""

    def read(self, size: int) -> bytes:
        """About `size` bytes, more where a feed holds them; none only at the end of the last frame."""
        parts: list[bytes] = []
        wanted = size
        while wanted > 0:
            part = self._next()
            if part is None:
                break
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    def _next(self) -> bytes | None:
        if not self._packed:
            self._packed = self._file.read(_FEED_BYTES)
        if not self._packed:
            if self._frame is not None:
                raise EOFError
            return None
        if self._frame is None:
            self._frame = self._library.ZstdDecompressor().decompressobj()
        part = self._frame.decompress(self._packed)
        self._packed = self._frame.unused_data if self._frame.eof else b""
        if self._frame.eof:
            self._frame = None
        return part


def zstd_library() -> Any:
    """The module `zstandard`; InputError if it is not installed."""
    try:
        return import_module("zstandard")
    except ImportError:
        raise input_error(
            "the library that reads .zst files is not installed",
            got="no module zstandard",
            fix='pip install "trimtab[zstd]", or decompress the file: unzstd FILE',
        ) from None
