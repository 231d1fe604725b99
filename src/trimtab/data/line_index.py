"""Where each line of a text begins: one array in a file, written in a single pass and read through a memory map.

The file is a plain .npy of uint64: the sha256 of the whole text in four words, then the first byte of each line, then
one past the last line end (for a text that does not end in a newline, as if it did).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

_NEWLINE = 10
_DIGEST_WORDS = 4


@dataclass(frozen=True, slots=True)
class LineIndex:
    """A loaded index; line i without its end is `text[starts[i]:starts[i + 1] - 1]`."""

    starts: memoryview
    """Byte offsets, one more than there are lines. A memoryview, whose items are plain ints at a third of the price."""
    fingerprint: str
    """sha256 of the text, in hex."""

    def __len__(self) -> int:
        return len(self.starts) - 1


def write_index(file: BinaryIO, blocks: Iterable[bytes]) -> None:
    """Writes the index of a text that comes in blocks; holds one block at a time."""
    _write_header(file, num_words=0)
    file.write(bytes(8 * (_DIGEST_WORDS + 1)))
    digest, size, num_lines, last = hashlib.sha256(), 0, 0, _NEWLINE
    for block in blocks:
        digest.update(block)
        starts = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE).astype(np.uint64)
        starts += np.uint64(size + 1)
        file.write(starts.data)
        num_lines += len(starts)
        size += len(block)
        last = block[-1]
    if last != _NEWLINE:
        file.write(np.uint64(size + 1).tobytes())
        num_lines += 1
    file.seek(0)
    _write_header(file, num_words=_DIGEST_WORDS + 1 + num_lines)
    file.write(digest.digest())


def load_index(path: Path, *, text: Path) -> LineIndex | None:
    """The index, or None if it is missing, damaged or does not fit the size of the text."""
    try:
        words = np.load(path, mmap_mode="r", allow_pickle=False)
        size = text.stat().st_size
    except (OSError, ValueError, EOFError):
        return None
    if words.dtype != np.uint64 or words.ndim != 1 or len(words) <= _DIGEST_WORDS:
        return None
    starts = np.asarray(words).data[_DIGEST_WORDS:]
    # The text ends where the last line does, or one byte earlier when that line has no newline.
    if starts[0] != 0 or starts[-1] not in (size, size + 1):
        return None
    return LineIndex(starts, words[:_DIGEST_WORDS].tobytes().hex())


def _write_header(file: BinaryIO, *, num_words: int) -> None:
    # numpy leaves room in the header for the first axis to grow, so the second writing has the length of the first.
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.uint64)), "fortran_order": False}
    np.lib.format.write_array_header_1_0(file, {**header, "shape": (num_words,)})
