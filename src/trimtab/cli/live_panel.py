"""`trimtab train` in a terminal: a panel with the newest numbers, rewritten in place below the messages."""

import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from io import TextIOBase
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from trimtab.cli.console import ConsoleProgress, clock_time, evaluation_line, step_line
from trimtab.cli.sparkline import Course, sparkline

NARROWEST, LOWEST = 30, 4
"""Columns and rows below which there is one line in place of the panel."""
WIDEST = 100
MOST_SAMPLE_LINES, MOST_SETS = 3, 4
GIB = 2**30
INPUTS, OUTPUTS = (
    ("source", "prompt", "text", "input"),
    ("translation", "continuation", "output", "prediction", "generated", "predicted"),
)


def has_panel(stream: TextIO | TextIOBase) -> bool:
    """Whether a stream is a terminal that can rewrite lines."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@dataclass(slots=True)
class Numbers:
    """What the panel shows."""

    metrics: dict[str, Any] = field(default_factory=dict[str, Any])
    share: float = 0.0
    seconds_left: float | None = None
    course: Course = field(default_factory=Course)
    scores: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The newest of each validation set."""
    sample: dict[str, Any] = field(default_factory=dict[str, Any])


class LivePanel(ConsoleProgress):
    """Prints messages, findings and evaluations as lines, and keeps the newest numbers in a panel below them.

    The cursor rests at the end of the panel, is never hidden, and each write leaves the terminal in its usual colours:
    whatever ends the process, the shell goes on in the line below.
    """

    def __init__(
        self,
        stream: TextIO | TextIOBase | None = None,
        clock: Callable[[], float] = time.monotonic,
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(stream, clock)
        self._size = size or (lambda: terminal_size(self._stream))
        self._numbers = Numbers()
        self._painted: list[int] = []
        """The width in cells of each line of the panel as the terminal shows it."""
        self._painted_at = 0
        """Columns of the terminal at that time."""
        self._writing = threading.RLock()

    def step(self, metrics: dict[str, Any], *, share: float, seconds_left: float | None) -> None:
        """The newest step, unless one was shown a moment ago; the last one is always shown."""
        numbers = self._numbers
        numbers.metrics, numbers.share, numbers.seconds_left = metrics, share, seconds_left
        numbers.course.add(metrics.get("loss"))
        if self._is_due(is_last=share >= 1):
            self._paint()

    def evaluation(self, scores: dict[str, Any]) -> None:
        """The scores of one validation set, as a line and in the panel."""
        self._numbers.scores[str(scores.get("set"))] = scores
        super().evaluation(scores)

    def sample(self, sample: dict[str, Any]) -> None:
        """A new output of the model; the panel shows the first one of each evaluation."""
        if sample.get("step") != self._numbers.sample.get("step"):
            self._numbers.sample = sample

    def close(self) -> None:
        """Shows the panel a last time and leaves it."""
        with self._writing:
            if self._painted:
                self._paint()
                self._write("\n")
                self._painted = []

    @contextmanager
    def below_others(self) -> Generator[None, None, None]:
        """While it is open, what others print to stderr, such as warnings, appears above the panel."""
        above = _Above(self)
        with redirect_stderr(above):
            try:
                yield
            finally:
                above.end()

    def _line(self, text: str) -> None:
        with self._writing:
            had_panel = bool(self._painted)
            self._write(self._erase() + text + "\n")
            self._painted = []
            if had_panel:
                self._paint()

    def _paint(self) -> None:
        with self._writing:
            columns, rows = self._size()
            lines = panel_lines(self._numbers, columns - 1, rows - 1, is_ascii=not self._is_unicode)
            begin = self._to_top() if columns == self._painted_at else self._erase()
            text = "\x1b[K\n".join(_ansi(line) for line in lines)
            self._write(f"{begin}{text}\x1b[K\x1b[J")
            self._painted, self._painted_at = [line.cell_len for line in lines], columns

    def _erase(self) -> str:
        return self._to_top() + ("\x1b[J" if self._painted else "")

    def _to_top(self) -> str:
        """To the first column of the panel's first row. A terminal that became narrower has wrapped the lines."""
        if not self._painted:
            return ""
        columns = max(1, self._size()[0])
        rows = sum(max(1, -(-cells // columns)) for cells in self._painted)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "")

    @property
    def _is_unicode(self) -> bool:
        return (getattr(self._stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")

    def _write(self, text: str) -> None:
        if not self._is_unicode:
            encoding = self._stream.encoding or "ascii"
            text = text.encode(encoding, "replace").decode(encoding)
        super()._write(text.encode("utf-8", "replace").decode())


class Quiet(ConsoleProgress):
    """Prints warnings and errors only."""

    def message(self, text: str) -> None:
        """Nothing."""

    def step(self, metrics: dict[str, Any], *, share: float, seconds_left: float | None) -> None:
        """Nothing."""

    def evaluation(self, scores: dict[str, Any]) -> None:
        """Nothing."""

    def finding(self, finding: Any) -> None:
        """A warning or an error with its reason and its fix."""
        if finding.severity != "note":
            super().finding(finding)


@contextmanager
def training_progress(*, quiet: bool = False) -> Generator[ConsoleProgress, None, None]:
    """How a command that trains shows its progress: a panel in a terminal, lines elsewhere, findings alone if
    `quiet`."""
    if quiet or not has_panel(sys.stderr):
        progress = Quiet() if quiet else ConsoleProgress()
        try:
            yield progress
        finally:
            progress.close()
        return
    panel = LivePanel()
    with panel.below_others():
        try:
            yield panel
        finally:
            panel.close()


class _Above(io.TextIOBase):
    """Stands for stderr while a panel is shown: whole lines go above the panel."""

    def __init__(self, panel: LivePanel) -> None:
        super().__init__()
        self._panel, self._stream, self._begun = panel, sys.stderr, ""

    def write(self, text: str) -> int:
        lines = (self._begun + text).split("\n")
        self._begun = lines.pop()
        if lines:
            self._panel.message("\n".join(lines))
        return len(text)

    def end(self) -> None:
        """Prints a line that was begun."""
        if self._begun:
            self.write("\n")

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._stream.encoding


def terminal_size(stream: TextIO | TextIOBase) -> tuple[int, int]:
    """Columns and rows of the terminal behind a stream, now."""
    try:
        found = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError, AttributeError):
        found = shutil.get_terminal_size()
    return (found.columns or 80, found.lines or 24)


def panel_lines(numbers: Numbers, width: int, most: int, *, is_ascii: bool = False) -> list[Text]:
    """The panel in at most so many lines, each of at most `width` cells."""
    metrics = numbers.metrics
    if width < NARROWEST or most < LOWEST:
        line = step_line(metrics, share=numbers.share, seconds_left=numbers.seconds_left)
        return [_cut(Text(line), width)]
    width = min(width, WIDEST)
    found = [
        _bar_line(numbers, width, is_ascii=is_ascii),
        _loss_line(numbers, width, is_ascii=is_ascii),
        *_flow(_facts(numbers), width),
        *_score_lines(numbers.scores),
        *_sample_lines(numbers.sample),
    ]
    return [_cut(line, width) for line in found[:most]]


def _bar_line(numbers: Numbers, width: int, *, is_ascii: bool) -> Text:
    begin, left = f"step {numbers.metrics.get('step', 0):,}", numbers.seconds_left
    end = f"{numbers.share:.0%}" + (f"  {clock_time(left)} left" if left is not None else "")
    room = width - len(begin) - len(end) - 4
    line = Text(begin, style="bold")
    if room >= 8:
        done = round(room * min(1.0, max(0.0, numbers.share)))
        full, rest = ("#", "-") if is_ascii else ("━", "─")
        line.append("  ").append(full * done, style="green").append(rest * (room - done), style="dim")
    return line.append(f"  {end}")


def _loss_line(numbers: Numbers, width: int, *, is_ascii: bool) -> Text:
    loss, values = numbers.metrics.get("loss"), numbers.course.values
    begin = f"loss {loss:.3f}" if isinstance(loss, int | float) else "loss"
    end = f"{values[0]:.3f} to {values[-1]:.3f}" if len(values) > 1 else ""
    room = width - len(begin) - len(end) - 4
    line = Text(begin, style="bold")
    if len(values) > 1 and room >= 8:
        line.append("  ").append(sparkline(values, room, is_ascii=is_ascii), style="magenta")
        line.append(f"  {end}", style="dim")
    return line


def _facts(numbers: Numbers) -> list[Text]:
    metrics, steps = numbers.metrics, max(1, numbers.metrics.get("step", 1))
    found: list[Text] = []
    if "tokens_per_second" in metrics:
        found.append(Text(f"{metrics['tokens_per_second']:,.0f} {metrics.get('counted', 'tokens')}/s"))
    if "learning_rate" in metrics:
        found.append(Text(f"learning rate {metrics['learning_rate']:.1e}"))
    if isinstance(metrics.get("grad_norm"), int | float):
        found.append(Text(f"gradient norm {metrics['grad_norm']:.3g}"))
    if "clips" in metrics:
        found.append(Text(f"clipped {metrics['clips']:,} ({metrics['clips'] / steps:.0%})"))
    if "skips" in metrics:
        found.append(Text(f"skipped {metrics['skips']:,}", style="bold red" if metrics["skips"] else ""))
    if "gpu_memory" in metrics:
        found.append(Text(f"GPU memory {metrics['gpu_memory'] / GIB:.1f} GiB"))
    return found


def _score_lines(scores: dict[str, dict[str, Any]]) -> list[Text]:
    """The newest scores of the first sets; the report has those of all."""
    shown = [Text(evaluation_line(each), style="cyan") for each in [*scores.values()][:MOST_SETS]]
    more = len(scores) - len(shown)
    return [*shown, Text(f"{more:,} more sets", style="dim")] if more > 0 else shown


def _flow(parts: Sequence[Text], width: int) -> list[Text]:
    """The parts side by side, in as few lines as they need."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + 3 + part.cell_len <= width:
            lines[-1].append("   ").append_text(part)
        else:
            lines.append(Text().append_text(part))
    return lines


def _sample_lines(sample: dict[str, Any]) -> list[Text]:
    found: list[Text] = []
    for names in (INPUTS, OUTPUTS, ("reference", "label")):
        name = next((each for each in names if isinstance(sample.get(each), str)), None)
        if name is not None:
            # Nothing of the data may move the cursor, and no line end may begin a line.
            text = "".join(each if each.isprintable() else " " for each in sample[name][:400])
            found.append(Text().append(f"{name:<11} ", style="dim").append(text))
    return found[:MOST_SAMPLE_LINES]


def _cut(line: Text, width: int) -> Text:
    if width < 1:
        return Text()
    if cell_len(line.plain) > width:
        line.truncate(width, overflow="ellipsis")
    return line


def _ansi(line: Text) -> str:
    """The line with the codes of its colours, which end with it; without them where NO_COLOR is set."""
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system=None if os.environ.get("NO_COLOR") else "standard",
        width=10_000,
        legacy_windows=False,
        highlight=False,
        markup=False,
    )
    with console.capture() as found:
        console.print(line, end="", soft_wrap=True)
    return found.get()
