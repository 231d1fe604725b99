"""Lets a run, in a process of its own, wait before a step until another process has done what must come before it."""

import time
from pathlib import Path

LONGEST_WAIT = 120.0


def wait(*, step: int, gate: str) -> None:
    """From now on a run in this process waits, with so many steps behind it, until the file `gate` is there."""
    from trimtab.step.stepper import Stepper  # late: a run reads its recipe before it needs torch

    begin = Stepper.begin  # the loop alone calls it, while checks before step 1 ask for rates of any step

    def waits_first(stepper: Stepper, state):
        if state.step == step:
            _until_opened(Path(gate))
        begin(stepper, state)

    Stepper.begin = waits_first


def opened(gate: Path) -> None:
    """Lets the run continue."""
    gate.touch()


def _until_opened(gate: Path) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while not gate.exists():
        if time.monotonic() > until:
            raise SystemExit(f"nobody opened {gate}")
        time.sleep(0.002)
