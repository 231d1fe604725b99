"""Logs of a run, one JSON object a line, appended; a full disk or a broken log never stops the training."""

import errno
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.log_findings import Tell, log_finding
from trimtab.errors import reading
from trimtab.run_findings.checkpoints import LOG_NOT_WRITTEN

MAX_PENDING = 16 * 2**20
"""Bytes kept in memory while the disk takes none; records beyond that are lost."""


class Journal:
    """Appends records to a file, a second or so late; call `flush` before a checkpoint is committed.

    With `writes=False`, on a rank other than the first, records are dropped and the file is never opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        every_seconds: float = 1.0,
        tell: Tell = log_finding,
        clock: Callable[[], float] = time.monotonic,
        writes: bool = True,
    ) -> None:
        self.path = path
        self._writes = writes
        self._every_seconds = every_seconds
        self._tell = tell
        self._clock = clock
        self._pending = bytearray()
        self._flushed_at = clock()
        self._descriptor = -1
        self._warned = False

    def write(self, record: Mapping[str, Any]) -> None:
        """Takes a record of plain data; numbers that are not finite become the texts "nan", "inf", "-inf"."""
        if not self._writes:
            return
        line = json.dumps(_strict(record), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        if len(self._pending) + len(line) <= MAX_PENDING:
            self._pending += line
        if self._clock() - self._flushed_at >= self._every_seconds:
            self.flush()

    def flush(self) -> None:
        """Hands what is pending to the operating system; what it does not take is kept and tried again later."""
        self._flushed_at = self._clock()
        try:
            if self._descriptor < 0 and self._pending:
                self._open()
            while self._pending:
                del self._pending[: os.write(self._descriptor, self._pending)]
        except OSError as error:
            self._warn(error)

    def close(self) -> None:
        """Flushes and closes the file; a later write opens it again."""
        self.flush()
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                os.close(descriptor)
            except OSError as error:  # a network file system may tell only now that it did not write
                self._warn(error)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        # Follows no link out of the run, and does not wait for a reader if the path is a pipe.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(self.path, flags, 0o644)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise OSError(errno.ELOOP, "it is a link, and links are not followed") from None
            raise
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a plain file")
        self._descriptor, size = descriptor, status.st_size
        # A killed process may have left half a line; without a line break it would swallow our first record.
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._pending[:0] = b"\n"

    def _warn(self, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        self._tell(
            LOG_NOT_WRITTEN.found(
                f"{self.path.name} cannot be written: {error.strerror}; training continues",
                why=f"up to {MAX_PENDING >> 20} MiB of records wait in memory; further ones are lost",
                where=str(self.path),
            )
        )


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a log; lines that are no object, such as one cut off by a kill, are left out."""
    with reading(path):
        if path.exists():
            with open(path, "rb") as file:
                yield from (record for line in file if (record := record_in(line)) is not None)


def cut_back(path: Path, step: int, *, but: Sequence[Sequence[int]] = (), only: str = "") -> int:
    """Takes what came after `step` out of a log, and torn lines with it; gives the number of lines taken out.

    Records without a step stay, and those of the stretches `but`, each a first and a last step; with `only` also those
    in which this key is not true. A reader sees the old file or the new one. Raises DiskFull where the disk is full.
    """
    with reading(path):
        if not path.exists():
            return 0
        lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if line.endswith(b"\n") and _stays(line, step, but, only)]
    if len(kept) < len(lines):
        replace_file(path, b"".join(kept))
    return len(lines) - len(kept)


def _stays(line: bytes, step: int, but: Sequence[Sequence[int]], only: str) -> bool:
    record = record_in(line)
    if record is None:
        return False
    if only and not record.get(only):
        return True
    at = record.get("step")
    return not isinstance(at, int) or at <= step or any(first <= at <= last for first, last in but)


def record_in(line: bytes) -> dict[str, Any] | None:
    """The object on a line of a log; None where it is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _strict(value: Any) -> Any:
    """The value without what JSON has no word for."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value
