import io

import pytest

from trimtab.cli.console import ConsoleProgress, clock_time, evaluation_line, step_line
from trimtab.finding import Finding
from trimtab.progress import Progress

METRICS = {"step": 1200, "loss": 4.2134, "learning_rate": 3e-4, "tokens_per_second": 12345.6}


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_is_a_progress():
    assert isinstance(ConsoleProgress(), Progress)


def test_a_step_is_a_line_of_what_matters():
    assert step_line(METRICS, share=0.24, seconds_left=65.0) == (
        "step 1,200  loss 4.213  learning rate 3.0e-04  12,346 tokens/s  24%  1:05 left"
    )
    assert step_line({"step": 1, "loss": 2.0, "skipped": True}, share=0.0, seconds_left=None) == (
        "step 1  loss 2.000  skipped  0%"
    )


def test_an_evaluation_shows_the_scores_that_there_are():
    assert evaluation_line({"step": 500, "set": "dev", "loss": 3.2114, "bleu": 21.34, "chrf": 48.0}) == (
        "step 500  dev: loss 3.211  BLEU 21.3  chrF 48.0"
    )
    assert (
        evaluation_line({"step": 500, "set": "dev", "loss": 3.0, "bleu": None}) == "step 500  dev: loss 3.000"
    )


def test_times_are_as_on_a_clock():
    assert [clock_time(seconds) for seconds in (0.0, 59.6, 65.0, 3600.0, 7265.0)] == [
        "0:00",
        "1:00",
        "1:05",
        "1:00:00",
        "2:01:05",
    ]


def test_a_log_gets_a_line_now_and_then_and_the_last_step():
    stream, clock = io.StringIO(), Clock()
    progress = ConsoleProgress(stream, clock)
    for step in range(1, 31):
        clock.now = float(step)
        progress.step({"step": step, "loss": 1.0}, share=step / 30, seconds_left=None)
    shown = [int(line.split()[1]) for line in stream.getvalue().splitlines()]
    assert shown == [1, 11, 21, 30]


def test_a_screen_has_one_line_that_is_rewritten_until_something_else_is_said():
    stream, clock = Screen(), Clock()
    progress = ConsoleProgress(stream, clock)
    for step in range(1, 4):
        clock.now += 1.0
        progress.step({"step": step, "loss": 1.0}, share=0.1, seconds_left=None)
    assert stream.getvalue().count("\n") == 0
    assert stream.getvalue().count("\r\x1b[2K") == 3
    progress.message("saved")
    assert stream.getvalue().endswith("10%\nsaved\n")
    progress.close()
    assert stream.getvalue().endswith("saved\n")


def test_a_finding_is_shown_whole():
    stream = io.StringIO()
    ConsoleProgress(stream).finding(
        Finding(code="S901", name="loss-spike", severity="warning", message="loss is 9", why="w", fix="f")
    )
    assert stream.getvalue() == "warning[S901] loss-spike: loss is 9\n  why  w\n  fix  f\n"


def test_a_finding_that_comes_again_is_one_line_unless_it_says_something_new():
    stream = io.StringIO()
    progress = ConsoleProgress(stream)
    for message, fix in (("30%", "f"), ("35%", "f"), ("40%", "g")):
        progress.finding(
            Finding(code="E903", name="loops", severity="warning", message=message, why="w", fix=fix)
        )
    assert stream.getvalue().splitlines() == [
        "warning[E903] loops: 30%",
        "  why  w",
        "  fix  f",
        "warning[E903] loops: 35%",
        "warning[E903] loops: 40%",
        "  why  w",
        "  fix  g",
    ]


class Broken(io.StringIO):
    """A log on a full disk, or a terminal that has gone."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("is_screen", [True, False])
def test_what_cannot_be_shown_is_no_reason_to_stop(is_screen: bool, monkeypatch: pytest.MonkeyPatch):
    stream = Broken()
    monkeypatch.setattr(stream, "isatty", lambda: is_screen)
    progress = ConsoleProgress(stream)
    progress.message("begun")
    progress.step({"step": 1, "loss": 1.0}, share=1.0, seconds_left=None)
    progress.close()
