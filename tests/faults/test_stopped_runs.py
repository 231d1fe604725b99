"""Runs that are asked to stop, by a cluster or by Ctrl-C, save first and end as if nothing had happened."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.children import Command
from tests.faults.counting import Count
from tests.faults.killing import (
    FEW_STEPS,
    LONGEST_WAIT,
    MANY_STEPS,
    Moment,
    digest,
    end_in_turn,
    found,
    killed_recipe,
    logs,
    newest,
    start,
    waiting,
)
from trimtab.launch import train
from trimtab.training.step_judge import MOST_SECONDS

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

Deed = Callable[[Command], None]


@pytest.mark.quick("SIGTERM")
@pytest.mark.parametrize(
    ("number", "workers"), [(signal.SIGTERM, 0), (signal.SIGINT, 2)], ids=["SIGTERM", "SIGINT, workers"]
)
def test_a_run_that_is_asked_to_stop_saves_and_can_go_on(
    number: int, workers: int, tmp_path: Path, undisturbed: Path, count: Count
):
    recipe, run = killed_recipe(tmp_path, workers=workers, steps=FEW_STEPS), tmp_path / "run"
    (left,) = end_in_turn(recipe, run, [Moment(20, 0.05)], number=number)
    train(recipe, out=run, resume=True)
    count("signals", tried=1, held=digest(run) == digest(undisturbed), steps_lost=[0])
    assert left.code == (130 if number == signal.SIGINT else 143)
    # Nothing done is lost: the newest checkpoint is that of the last step.
    assert left.checkpoint == left.metrics_step >= 20
    assert left.drafts == 0
    assert digest(run) == digest(undisturbed)
    assert logs(run) == logs(undisturbed)


def send(*numbers: int, apart: float) -> Deed:
    def deed(process: Command) -> None:
        for number in numbers:
            process.send_signal(number)
            time.sleep(apart)

    return deed


IMPATIENT: list[tuple[Deed, set[int]]] = [
    # The first asks for an end after the step, the second takes it; either may come first.
    (send(signal.SIGTERM, signal.SIGTERM, apart=0.02), {143, -signal.SIGTERM}),
    (send(signal.SIGINT, signal.SIGINT, apart=0.02), {130, -signal.SIGINT}),
    (send(signal.SIGTERM, signal.SIGKILL, apart=0.05), {143, -signal.SIGKILL}),
    # A terminal that closes: asks too, or ends the run at once.
    (send(signal.SIGHUP, apart=0.0), {143, -signal.SIGHUP}),
]


def disturb(recipe: Path, run: Path, step: int, deed: Deed, *, seconds: float = LONGEST_WAIT) -> int:
    """The exit code of a process to which something is done as soon as it has saved a step."""
    process = start(recipe, run, resume=run.exists())
    try:
        for _ in waiting(process):
            if newest(run) >= step:
                break
        deed(process)
        process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode


@pytest.mark.slow
def test_whoever_cannot_wait_loses_no_checkpoint(tmp_path: Path, long_undisturbed: Path, count: Count):
    recipe, run = killed_recipe(tmp_path, workers=0, steps=MANY_STEPS), tmp_path / "run"
    codes, lost, before = [], [], 0
    for number, (deed, _) in enumerate(IMPATIENT):
        codes.append(disturb(recipe, run, 20 + 25 * number, deed))
        left = found(run, codes[-1])
        assert left.checkpoint is not None
        assert left.checkpoint >= max(before, 20 + 25 * number)
        before = left.checkpoint
        lost.append(max(0, (left.metrics_step or 0) - left.checkpoint))
    train(recipe, out=run, resume=True)
    as_undisturbed = digest(run) == digest(long_undisturbed) and logs(run) == logs(long_undisturbed)
    count("signals", tried=len(IMPATIENT), held=len(IMPATIENT) * as_undisturbed, steps_lost=lost)
    assert [code in allowed for code, (_, allowed) in zip(codes, IMPATIENT, strict=True)] == [True] * 4, codes
    assert as_undisturbed


@pytest.mark.parametrize(
    "seconds", [1.5, pytest.param(30.0, marks=pytest.mark.slow)], ids=["a moment", "half a minute"]
)
def test_a_run_that_is_stopped_and_continued_goes_on(
    seconds: float, tmp_path: Path, undisturbed: Path, count: Count
):
    recipe, run = killed_recipe(tmp_path, workers=0, steps=FEW_STEPS), tmp_path / "run"
    code = disturb(recipe, run, 20, send(signal.SIGSTOP, signal.SIGCONT, apart=seconds))
    count("signals", tried=1, held=code == 0 and digest(run) == digest(undisturbed), steps_lost=[0])
    assert code == 0
    assert digest(run) == digest(undisturbed)
    left = logs(run)
    findings = [each for each in left.get("findings", []) if each["code"] == "P902"]
    assert len(findings) == (seconds > MOST_SECONDS)
    left["findings"] = [each for each in left.get("findings", []) if each not in findings]
    assert left == {"findings": [], **logs(undisturbed)}
