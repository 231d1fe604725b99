"""Shows the progress of a run: one updating line in a terminal, an occasional line in a log."""

import shutil
import sys
import time
from collections.abc import Callable
from io import TextIOBase
from typing import Any, TextIO

from trimtab.finding import Finding
from trimtab.metrics.catalogue import METRICS

SECONDS_BETWEEN_LINES = 10.0
"""In a log, where every line stays."""
SECONDS_BETWEEN_REWRITES = 0.1


class ConsoleProgress:
    """Writes to stderr, so that stdout stays free for results."""

    def __init__(
        self, stream: TextIO | TextIOBase | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._rewrites = self._stream.isatty()
        self._written_at = -float("inf")
        self._pending = False
        self._shown: set[tuple[str, str, str]] = set()

    def message(self, text: str) -> None:
        """One line about what happens now."""
        self._line(text)

    def step(self, metrics: dict[str, Any], *, share: float, seconds_left: float | None) -> None:
        """The newest step, unless one was shown a moment ago; the last one is always shown."""
        self.update(step_line(metrics, share=share, seconds_left=seconds_left), is_last=share >= 1)

    def update(self, text: str, *, is_last: bool = False) -> None:
        """A line in place of the one before, unless one was shown a moment ago; the last one is always shown."""
        if not self._is_due(is_last=is_last):
            return
        if not self._rewrites:
            self._line(text)
            return
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[2K{text[:width]}")
        self._pending = True

    def _is_due(self, *, is_last: bool) -> bool:
        wait = SECONDS_BETWEEN_REWRITES if self._rewrites else SECONDS_BETWEEN_LINES
        now = self._clock()
        if now - self._written_at < wait and not is_last:
            return False
        self._written_at = now
        return True

    def evaluation(self, scores: dict[str, Any]) -> None:
        """The scores of one validation set."""
        self._line(evaluation_line(scores))

    def finding(self, finding: Finding) -> None:
        """A finding with its reason and its fix; one line where both were shown before, as at the last evaluation."""
        text, page = str(finding), (finding.code, finding.why, finding.fix)
        self._line(text.partition("\n")[0] if page in self._shown else text)
        self._shown.add(page)

    def close(self) -> None:
        """Ends the line that was being rewritten."""
        if self._pending:
            self._write("\n")
            self._pending = False

    def _line(self, text: str) -> None:
        self.close()
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            pass  # a full disk under the log, or a reader that has gone, is no reason to stop training


def step_line(metrics: dict[str, Any], *, share: float, seconds_left: float | None) -> str:
    """`step 120  loss 4.213  learning rate 3.0e-04  12,345 tokens/s  24%  1:05 left`."""
    parts = [f"step {metrics['step']:,}", f"loss {metrics['loss']:.3f}"]
    if "learning_rate" in metrics:
        parts.append(f"learning rate {metrics['learning_rate']:.1e}")
    if "tokens_per_second" in metrics:
        parts.append(f"{metrics['tokens_per_second']:,.0f} {metrics.get('counted', 'tokens')}/s")
    if metrics.get("skipped"):
        parts.append("skipped")
    parts.append(f"{share:.0%}")
    if seconds_left is not None:
        parts.append(f"{clock_time(seconds_left)} left")
    return "  ".join(parts)


def evaluation_line(scores: dict[str, Any]) -> str:
    """`step 500  dev: loss 3.211  BLEU 21.3  chrF 48.0`."""
    shown = [
        f"{metric.label} {scores[metric.name]:.{metric.digits}f}"
        for metric in METRICS
        if metric.brief and isinstance(scores.get(metric.name), int | float)
    ]
    return f"step {scores['step']:,}  {scores['set']}: {'  '.join(shown)}"


def clock_time(seconds: float) -> str:
    """`1:05` or `2:01:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
