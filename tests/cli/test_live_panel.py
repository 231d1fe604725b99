"""The panel on a terminal that is emulated by pyte, and in a real process behind a pseudo-terminal."""

import io
import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from tests.for_each import for_each
from trimtab.cli.live_panel import LivePanel, Numbers, has_panel, panel_lines, training_progress
from trimtab.finding import Finding
from trimtab.progress import HearsSamples, Progress

pyte = pytest.importorskip("pyte", reason="emulates a terminal: pip install pyte")
SAMPLE = {
    "step": 20,
    "set": "dev",
    "source": "the old ship",
    "translation": "das alte schiff",
    "reference": "x",
}


class Terminal(io.StringIO):
    """A stream whose text a terminal shows."""

    def __init__(self, columns: int = 80, rows: int = 24, encoding: str = "utf-8") -> None:
        super().__init__()
        self.size, self._encoding, self.now = (columns, rows), encoding, 0.0
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self.screen.set_mode(pyte.modes.LNM)  # as a terminal whose driver turns each \n into \r\n
        self.shown = pyte.Stream(self.screen)

    @property
    def encoding(self) -> str:
        return self._encoding

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        text.encode(self._encoding)
        self.shown.feed(text)
        return super().write(text)

    def resize(self, columns: int, rows: int) -> None:
        self.size = (columns, rows)
        self.screen.resize(rows, columns)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display if line.strip()]


def panel_on(terminal: Terminal) -> LivePanel:
    def clock() -> float:
        terminal.now += 1.0
        return terminal.now

    return LivePanel(terminal, clock, lambda: terminal.size)


def take(panel: LivePanel, steps: range, **changes) -> None:
    for step in steps:
        metrics = {"step": step, "loss": 8 - step / 20, "learning_rate": 3e-4, "tokens_per_second": 12345.6}
        metrics |= {"grad_norm": 0.8, "clips": 2, "skips": 1, "gpu_memory": 3 * 2**30, **changes}
        panel.step(metrics, share=step / 100, seconds_left=65.0)


def test_it_is_a_progress_that_hears_samples():
    assert isinstance(LivePanel(io.StringIO()), Progress)
    assert isinstance(LivePanel(io.StringIO()), HearsSamples)


def test_the_panel_shows_what_matters_in_place():
    terminal = Terminal()
    panel = panel_on(terminal)
    panel.message("1.2M parameters")
    take(panel, range(1, 21))
    panel.sample(SAMPLE)
    panel.sample(SAMPLE | {"source": "the second of the same evaluation"})
    panel.evaluation({"step": 20, "set": "dev", "loss": 3.2, "chrf": 48.0})
    take(panel, range(21, 23))
    text = "\n".join(terminal.lines)
    assert terminal.lines[0] == "1.2M parameters"
    assert terminal.lines[1] == "step 20  dev: loss 3.200  chrF 48.0"
    assert terminal.lines[2].startswith("step 22  ━")
    assert terminal.lines[2].endswith("22%  1:05 left")
    assert terminal.lines[3].startswith("loss 6.900  █")
    for part in ("12,346 tokens/s", "clipped 2 (9%)", "skipped 1", "GPU memory 3.0 GiB", "the old ship"):
        assert text.count(part) == 1
    assert "second" not in text
    panel.close()
    assert "\n".join(terminal.lines) == text
    assert terminal.screen.cursor.x == 0


@for_each(("columns", "rows"), [(80, 24), (40, 10), (31, 5), (20, 24), (80, 3), (6, 2), (1, 1)])
def test_no_terminal_is_too_small(columns, rows):
    terminal = Terminal(columns, rows)
    panel = panel_on(terminal)
    panel.sample(SAMPLE | {"source": "大きな舵は水を" * 40, "translation": "الشراع القديم" * 40})
    take(panel, range(1, 13))
    assert len(terminal.lines) <= max(1, rows - 1)
    assert not terminal.screen.history.top  # nothing was pushed out of it
    if columns > 6:
        assert terminal.lines[0].startswith("step 12"[: columns - 2])


@pytest.mark.parametrize(("columns", "rows"), [(60, 24), (120, 40), (80, 12)])
def test_a_terminal_of_another_size_gets_a_panel_of_its_own(columns, rows):
    terminal = Terminal()
    panel = panel_on(terminal)
    take(panel, range(1, 10))
    terminal.resize(columns, rows)
    take(panel, range(10, 12))
    assert sum(line.startswith("step ") for line in terminal.lines) == 1
    assert all(len(line) < columns for line in terminal.lines)


def test_lines_that_a_narrower_terminal_has_wrapped_are_rewritten_as_well():
    terminal = Terminal()
    panel = panel_on(terminal)
    take(panel, range(1, 10))
    wide = [len(line.plain) for line in panel_lines(panel._numbers, 79, 23)]
    terminal.size = (40, 24)
    begun = len(terminal.getvalue())
    take(panel, range(10, 11))
    rows = sum(-(-width // 40) for width in wide)
    assert terminal.getvalue()[begun:].startswith(f"\r\x1b[{rows - 1}A\x1b[J")


def test_text_of_the_data_does_not_move_the_cursor():
    terminal = Terminal()
    panel = panel_on(terminal)
    panel.sample(SAMPLE | {"source": "a\x1b[2J\x1b]0;owned\x07b\r\n\ud800c", "translation": "\x9b31mred"})
    take(panel, range(1, 4))
    (line,) = [line for line in terminal.lines if line.startswith("source")]
    assert line.split(maxsplit=1)[1] == "a [2J ]0;owned b   c"
    assert terminal.screen.title == ""


def test_without_colour_there_is_none(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    take(panel_on(terminal), range(1, 4))
    assert not [
        each for each in terminal.getvalue().split("\x1b[")[1:] if each.lstrip("0123456789;")[0] == "m"
    ]


def test_an_ascii_terminal_gets_ascii():
    terminal = Terminal(encoding="ascii")
    panel = panel_on(terminal)
    panel.sample(SAMPLE | {"translation": "größer"})
    take(panel, range(1, 4))
    assert "gr??er" in "\n".join(terminal.lines)
    assert "----" in terminal.lines[0]


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_rewrites_nothing_has_no_panel(term, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert has_panel(Terminal())
    assert not has_panel(io.StringIO())
    monkeypatch.setenv("TERM", term)
    assert not has_panel(Terminal())


def test_what_others_print_appears_above(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    panel = panel_on(terminal)
    take(panel, range(1, 4))
    with panel.below_others():
        print("of a library", file=sys.stderr)
        sys.stderr.write("begun")
        take(panel, range(4, 6))
    assert any("of a library" in line for line in terminal.lines)
    text = "\n".join(terminal.lines)
    assert text.index("of a library") < text.index("begun") < text.index("step 5")
    assert text.count("loss ") == 1


def test_quiet_tells_of_warnings_and_errors_alone(capsys):
    with training_progress(quiet=True) as progress:
        progress.message("begun")
        progress.step({"step": 1, "loss": 1.0}, share=1.0, seconds_left=None)
        progress.evaluation({"step": 1, "set": "dev", "loss": 1.0})
        progress.finding(Finding(code="D201", name="n", severity="note", message="m"))
        progress.finding(Finding(code="S901", name="loss-spike", severity="warning", message="loss is 9"))
    assert capsys.readouterr() == ("", "warning[S901] loss-spike: loss is 9\n")


def test_a_panel_before_the_first_step_is_short():
    assert [line.plain for line in panel_lines(Numbers(metrics={"step": 0, "loss": "nan"}), 30, 9)]


TRAINS = """
import os, signal, sys, time
from trimtab.cli.live_panel import training_progress
with training_progress() as progress:
    progress.message("begun")
    for step in range(1, 100000):
        progress.step({"step": step, "loss": 5.0, "skips": 1}, share=step / 1e6, seconds_left=9.0)
        time.sleep(0.02)
"""


def on_a_terminal(program: str, number: int) -> tuple[list[str], bytes]:
    """What a terminal shows of a program that a signal ends after some panels."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": ""}, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while child.poll() is None or select.select([ours], [], [], 0)[0]:
            if not select.select([ours], [], [], 20)[0]:
                break
            try:
                seen += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if seen.count(b"left") == 3 and child.poll() is None:
                child.send_signal(number)
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    screen = pyte.Screen(80, 24)
    pyte.ByteStream(screen).feed(seen)
    return [line.rstrip() for line in screen.display if line.strip()], seen


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_leaves_a_usual_terminal(number):
    lines, seen = on_a_terminal(TRAINS, number)
    assert lines[0] == "begun"
    assert sum(line.startswith("step ") for line in lines) == 1
    codes = list(seen.decode().split("\x1b[")[1:])
    assert not any(each.startswith("?") for each in codes)  # neither a hidden cursor nor another screen
    colours = [each.split("m")[0] for each in codes if each.lstrip("0123456789;")[:1] == "m"]
    assert colours
    assert colours[-1] == "0"


def test_of_many_validation_sets_the_first_few_are_in_the_panel():
    terminal = Terminal(100, 40)
    panel = panel_on(terminal)
    for number in range(100):
        panel.evaluation({"step": 20, "set": f"dev{number}", "loss": 3.2, "chrf": 48.0})
    panel.sample(SAMPLE)
    take(panel, range(21, 23), counted="images")
    panel_text = terminal.lines[-12:]
    assert (
        sum(line.startswith("step 20  dev") for line in panel_text[panel_text.index("96 more sets") - 4 :])
        == 4
    )
    assert "12,346 images/s" in "\n".join(panel_text)
    assert "the old ship" in "\n".join(panel_text)
