"""How far a long translation is, on stderr: one updating line in a terminal, a line now and then in a log."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from trimtab.cli.console import SECONDS_BETWEEN_LINES, ConsoleProgress, clock_time

SECONDS_BETWEEN_LOOKS = 1.0
READ_BYTES = 1 << 20
COMPRESSED = (".gz", ".xz", ".zst")


def lines_of_file(source: Path | None) -> int | None:
    """Lines of a plain file; None where they cannot be counted before they are read."""
    if source is None or not source.is_file() or source.suffix in COMPRESSED:
        return None
    count, last = 0, b"\n"
    with source.open("rb") as file:
        while data := file.read(READ_BYTES):
            count += data.count(b"\n")
            last = data[-1:]
    return count + (last != b"\n")


def is_shown(output: Path | None) -> bool:
    """Whether the translations appear in the terminal, so that they are seen to come."""
    return output is None and sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def shown_progress(
    done: Callable[[], int],
    source: Path | None,
    *,
    hidden: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[None, None, None]:
    """Shows during the block how many lines of the source are done, as `done` says, how fast, and how long the rest
    will take; nothing in the first seconds, and nothing where it is `hidden`."""
    if hidden:
        yield
        return
    total = lines_of_file(source)
    progress, ended = ConsoleProgress(), threading.Event()
    begun = clock()

    def look() -> None:
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            seconds = clock() - begun
            if seconds >= SECONDS_BETWEEN_LINES:
                progress.update(progress_line(done(), total=total, seconds=seconds))

    thread = threading.Thread(target=look, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        progress.close()


def progress_line(done: int, *, total: int | None, seconds: float) -> str:
    """`1,234 of 5,000 lines  41.2 lines/s  1:31 left`."""
    if total is not None:
        done = min(done, total)  # a long line counts once for each of its pieces
    speed = done / seconds
    parts = [f"{done:,} lines" if total is None else f"{done:,} of {total:,} lines", f"{speed:.1f} lines/s"]
    if total is not None and speed > 0:
        parts.append(f"{clock_time((total - done) / speed)} left")
    return "  ".join(parts)
