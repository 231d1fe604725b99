"""The lines of a text file, read in place: line i costs a look at an index and one read of the file."""

import bisect
import hashlib
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Protocol, overload, runtime_checkable

import numpy as np
from jaxtyping import Int64

from trimtab.data.cache import committed, writable_folder
from trimtab.data.compressed import Compression, compression_of, copied, read_blocks
from trimtab.data.input_file import open_input
from trimtab.data.line_index import LineIndex, load_index, write_index
from trimtab.errors import LONGEST_LINE_BYTES, InputError, input_error, line_too_long

_END_BYTES = 1 << 16
_LAYOUT = "trimtab lines 1"
"""Part of every key; another layout of the index file needs another word here."""


def open_lines(path: Path, *, cache: Path) -> "Lines":
    """The lines of a plain, .gz, .xz or .zst file; only a newline ends a line, with one carriage return before it.

    The first opening reads the file once, for its index and its fingerprint (and unpacks it); both are kept in `cache`
    under a key made from the content, so that later openings cost nothing and a rewritten file is noticed.
    Raises InputError for what cannot be read, DiskFull where the cache does not fit.
    """
    with open_input(path) as file:
        head, key, stamp = _identity(file)
        compression = compression_of(path, head)
        text, index = _places(path, compression=compression, folder=cache, key=key)
        if load_index(index, text=text) is None:
            text, index = _places(path, compression=compression, folder=writable_folder(cache), key=key)
        if load_index(index, text=text) is None:
            _build(file, path=path, compression=compression, index=index, text=text)
            if _stamp(os.fstat(file.fileno())) != stamp:
                index.unlink(missing_ok=True)
                raise input_error(
                    f"{path}: the file changed while it was read", fix="wait until it is complete"
                )
    return Lines(path, text=text, index=index)


class Lines(Sequence[bytes]):
    """Lines as bytes without their ends. Safe to use after a fork, and pickled as the names of its files only.

    A text that is rewritten in place while it is open is an InputError at the next line; replacing it by a new file of
    the same name, or deleting it, is harmless. It is read, not mapped: a map of a file that shrinks ends the process.
    """

    def __init__(self, path: Path, *, text: Path, index: Path) -> None:
        self.path = path
        self._text_path = text
        self._index_path = index
        self._stamp = _stamp(text.stat())
        self._index: LineIndex
        self._text: int
        self._open()

    @property
    def fingerprint(self) -> str:
        """sha256 of the unpacked content, in hex."""
        return self._index.fingerprint

    def start(self, line: int) -> int:
        """The byte at which a line begins in the unpacked content."""
        return self._index.starts[line]

    @property
    def starts(self) -> np.ndarray:
        """The bytes at which lines begin in the unpacked content, and one past the end of the last; int64."""
        return np.asarray(self._index.starts).astype(np.int64)

    def line_at(self, byte: int) -> int:
        """The line that a byte of the unpacked content belongs to."""
        return bisect.bisect_right(self._index.starts, byte) - 1

    def between(self, start: int, stop: int) -> bytes:
        """The bytes of the unpacked content from one to before another; it may end before that."""
        size, _ = self._stamp
        return self._read(start, min(stop, size) - start)

    def num_bytes(self, line: int) -> int:
        """How long a line is, its end not counted; nothing of it is read."""
        return self._index.starts[line + 1] - self._index.starts[line] - 1

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The lines that have more bytes, from 0, int64; only the index is read."""
        lengths = np.diff(np.asarray(self._index.starts)) - np.uint64(1)
        return np.flatnonzero(lengths > np.uint64(num_bytes))

    def __len__(self) -> int:
        return len(self._index.starts) - 1

    @overload
    def __getitem__(self, line: int) -> bytes: ...
    @overload
    def __getitem__(self, line: slice) -> list[bytes]: ...
    def __getitem__(self, line: int | slice) -> bytes | list[bytes]:
        if isinstance(line, slice):
            return list(self.several(range(len(self))[line]))
        starts = self._index.starts
        if not 0 <= line < len(starts) - 1:
            raise IndexError(f"{self.path}: line {line} of {len(self)}, counted from 0")
        text = self._read(starts[line], self.num_bytes(line))
        return text[:-1] if text[-1:] == b"\r" else text

    def several(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """Lines of these numbers, in their order: those that lie near each other in the file are read at once, a
        block at a time."""
        asked = np.asarray(numbers, np.int64)
        if len(outside := asked[(asked < 0) | (asked >= len(self))]):
            raise IndexError(f"{self.path}: line {outside[0]} of {len(self)}, counted from 0")
        starts = np.asarray(self._index.starts)
        begins, ends = starts[asked].astype(np.int64), starts[asked + 1].astype(np.int64) - 1
        for block in line_blocks(begins, ends):
            start, stop = int(begins[block.start]), int(ends[block.stop - 1])
            text = self._read(start, stop - start)
            places = zip((begins[block] - start).tolist(), (ends[block] - start).tolist(), strict=True)
            yield from (text[begin:end].removesuffix(b"\r") for begin, end in places)

    def _read(self, start: int, size: int) -> bytes:
        try:
            is_changed = _stamp(os.fstat(self._text)) != self._stamp
            text = b"" if is_changed else os.pread(self._text, size, start)
        except OSError as error:  # a disk or a network that fails while reading
            raise input_error(f"{self.path}: cannot be read", got=error.strerror or str(error)) from None
        if len(text) < size or is_changed:
            raise self._changed()
        return text

    def _changed(self) -> InputError:
        return input_error(
            f"{self.path}: the file or its index changed while it was in use",
            fix="start again, or use --resume if the content is the same; the index is then rebuilt",
        )

    def __getattr__(self, name: str) -> Any:
        # Unpickled in another process: the maps are opened when they are first needed.
        if name in ("_index", "_text") and "_text_path" in self.__dict__:
            self._open()
            return self.__dict__[name]
        raise AttributeError(name)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_index", "_text")}

    def _open(self) -> None:
        index = load_index(self._index_path, text=self._text_path)
        with open_input(self._text_path) as file:
            stat = os.fstat(file.fileno())
            if index is None or _stamp(stat) != self._stamp:
                raise self._changed()
            self._text = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._text)
        self._index = index


def _places(path: Path, *, compression: Compression, folder: Path, key: str) -> tuple[Path, Path]:
    """Where the plain text and its index are."""
    return (path.absolute() if compression == "plain" else folder / f"{key}.txt"), folder / f"{key}.npy"


def _build(file: BinaryIO, *, path: Path, compression: Compression, index: Path, text: Path) -> None:
    """Text first, index last, so that an index never speaks of a text that is not there."""
    file.seek(0)
    blocks = read_blocks(file, path=path, compression=compression)
    copy = nullcontext() if compression == "plain" else committed(text, follows_from_name=True)
    with committed(index) as index_file, copy as text_file:
        write_index(index_file, blocks if text_file is None else copied(blocks, text_file))


def _identity(file: BinaryIO) -> tuple[bytes, str, tuple[int, int]]:
    """First bytes, key and stamp. Size, times and both ends; ctime too, which no tool can set back."""
    stat = os.fstat(file.fileno())
    head = file.read(_END_BYTES)
    file.seek(max(0, stat.st_size - _END_BYTES))
    tail = file.read(_END_BYTES)
    digest = hashlib.sha256(f"{_LAYOUT} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}\n".encode())
    digest.update(head)
    digest.update(tail)
    return head, digest.hexdigest(), _stamp(stat)


def _stamp(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns


GAP_BYTES = 2**15
"""So much that nobody asked for is read along rather than left out: asking again for what lies behind it costs as much,
on a disk, over a network and in a sandbox much more."""
BLOCK_BYTES = 2**20
"""A block ends with the line in which it has grown to so much; no more than a block is held."""


def line_blocks(begins: Int64[np.ndarray, "lines"], ends: Int64[np.ndarray, "lines"]) -> Iterator[slice]:
    """Of lines in the order in which they are asked for, each with its first byte and one past its last, those that are
    read at once: slices that follow each other and together are all lines. In a slice the bytes never go back."""
    if not len(begins):
        return
    gaps = begins[1:] - ends[:-1]
    is_apart = (gaps < 0) | (gaps > GAP_BYTES)
    # Counted from the first byte of its stretch, each line belongs to one of the pieces of BLOCK_BYTES.
    first = begins[np.concatenate([[0], np.flatnonzero(is_apart) + 1])]
    stretch = np.concatenate([[0], np.cumsum(is_apart)])
    piece = (begins - first[stretch]) // BLOCK_BYTES
    cuts = (np.flatnonzero(is_apart | (np.diff(piece) != 0)) + 1).tolist()
    yield from (slice(*edges) for edges in pairwise([0, *cuts, len(begins)]))


@runtime_checkable
class HasLines(Protocol):
    """A file, or a corpus of several, as far as it matters here."""

    def longer_than(self, num_bytes: int) -> Sequence[int] | np.ndarray:
        """The lines, from 0, of which more bytes must be read."""
        ...

    def num_bytes(self, line: int) -> int:
        """Bytes that must be read for a line."""
        ...


def refuse_long_lines(lines: HasLines, *, name: str) -> None:
    """InputError, with the first of them, for lines that are too long to translate or score; none is read."""
    if len(found := lines.longer_than(LONGEST_LINE_BYTES)):
        first = int(found[0])
        raise line_too_long(name, line=first + 1, got=f"{lines.num_bytes(first):,} bytes")
