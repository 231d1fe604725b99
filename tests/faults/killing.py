"""Runs `trimtab train` as a process of its own, ends it with a signal at a random moment, and compares what is left.

However slow this process is, the signal comes in time: a few steps on, the other one waits at a gate until it is sent.
"""

import hashlib
import json
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.children import Command
from tests.faults.gate import opened, wait
from tests.small_run import small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.step_folders import list_steps, step_name

FEW_STEPS, STEPS, MANY_STEPS, EVERY = 40, 60, 120, 5
"""Of a run that is ended once or twice, a few times and ten times, and between checkpoints."""
CHANGES = {
    "model.dropout": 0.2,
    "evaluate.every": "40 steps",
    "checkpoint.every": f"{EVERY} steps",
    "data.train.0.name": "words",
}
TIMES = {"seconds", "tokens_per_second"}
"""What differs between two runs of one recipe."""
LONGEST_WAIT = 120.0


@dataclass(frozen=True)
class Moment:
    """When to end a process: so many seconds after it committed the checkpoint of a step or a later one; for step 0,
    after the recipe is there."""

    step: int
    seconds: float


@dataclass(frozen=True)
class Found:
    """What lay in the run folder right after the process had ended."""

    code: int
    checkpoint: int | None
    """The newest committed step."""
    metrics_step: int | None
    """The last step in metrics.jsonl, which may lag behind by a second."""
    drafts: int
    """Checkpoints that were being written."""


def killed_recipe(folder: Path, *, workers: int, steps: int = STEPS) -> Path:
    """A tiny run with dropout and a checkpoint every few steps."""
    within = {"evaluate.every": f"{min(40, 2 * steps // 3)} steps"}
    return small_recipe(folder, length=f"{steps} steps", **{**CHANGES, **within, "data.workers": workers})


def moments(count: int, *, seed: int, steps: int = STEPS) -> list[Moment]:
    """The first as soon as the run has begun, the others at random steps, each a random while after its checkpoint."""
    draw = random.Random(seed)
    # So far apart that each is beyond what the run before it may have saved, which waits before a third checkpoint.
    after = sorted(draw.sample(range(EVERY, steps - 4 * EVERY, 2 * EVERY), count - 1))
    return [Moment(step, draw.uniform(0.0, 0.15)) for step in (0, *after)]


def end_in_turn(
    recipe: Path, run: Path, when: Sequence[Moment], *, number: int = signal.SIGKILL
) -> list[Found]:
    """Begins the run, then resumes it, as often as there are moments; each process is ended with the signal."""
    return [
        end_one(recipe, run, moment, number=number, resume=run.exists() and any(run.iterdir()))
        for moment in when
    ]


def end_one(recipe: Path, run: Path, moment: Moment, *, number: int, resume: bool) -> Found:
    until = max(moment.step, newest(run) + 1)
    gate = run.with_name(f"{run.name}-gate")
    gate.unlink(missing_ok=True)
    step = gate_step(until)
    process = start(recipe, run, resume=resume, first=lambda: wait(step=step, gate=str(gate)))
    try:
        for _ in waiting(process):
            if newest(run) >= until or (moment.step == 0 and (run / "recipe.yaml").exists()):
                break
        time.sleep(moment.seconds)
        process.send_signal(number)
        opened(gate)
        said = process.communicate(timeout=LONGEST_WAIT)[1]
    finally:
        process.kill()
    assert process.returncode != 0, f"the run had ended before the signal came: {said}"
    return found(run, process.returncode)


def gate_step(until: int) -> int:
    """Steps after which the process waits: two beyond the checkpoint that follows that of step `until`, so that it may
    be ended while it writes that one."""
    return -(-until // EVERY) * EVERY + EVERY + 2


def finish(recipe: Path, run: Path, *, resume: bool) -> None:
    """Trains to the end, in a process of its own."""
    process = start(recipe, run, resume=resume)
    said = process.communicate(timeout=10 * LONGEST_WAIT)[1]
    assert process.returncode == 0, said


def start(recipe: Path, run: Path, *, resume: bool, first: Callable[[], None] | None = None) -> Command:
    """The checks of the model, which are no matter of when a run ends, are left out."""

    def without_checks() -> None:
        from trimtab import launch  # late, as in `tests/unchecked.py`
        from trimtab.training.preflight.every_check import of_the_data

        launch.preflight = of_the_data
        if first is not None:
            first()

    return Command("train", recipe, "--out", run, *(["--resume"] if resume else []), first=without_checks)


def waiting(process: Command) -> Iterator[None]:
    """Turns of a loop that waits for something the process does."""
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until:
        assert process.poll() is None, f"the run ended by itself: {process.communicate()[1]}"
        yield
        time.sleep(0.002)
    raise AssertionError(f"nothing came within {LONGEST_WAIT:.0f} s")


def newest(run: Path) -> int:
    return max(list_steps(run / "checkpoints"), default=-1)


def found(run: Path, code: int) -> Found:
    steps = [record["step"] for record in read_journal(run / "metrics.jsonl")]
    drafts = [path for path in (run / "checkpoints").glob(".draft-*") if path.is_dir()]
    return Found(
        code, max(list_steps(run / "checkpoints"), default=None), max(steps, default=None), len(drafts)
    )


def digest(run: Path, step: int | None = None) -> str:
    """sha256 of the weights of a step, by default the last one."""
    file = run / "checkpoints" / step_name(newest(run) if step is None else step) / "model.safetensors"
    return hashlib.sha256(file.read_bytes()).hexdigest()


def logs(run: Path) -> dict[str, list[dict[str, Any]]]:
    """Every log of a run, line by line, without what depends on the clock or on when the process began."""
    names = ("metrics", "evaluations", "samples", "findings")
    return {
        name: [
            {key: value for key, value in json.loads(line).items() if key not in TIMES}
            for line in (run / f"{name}.jsonl").read_text().splitlines()
        ]
        for name in names
        if (run / f"{name}.jsonl").exists()
    }
