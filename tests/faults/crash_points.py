"""`python -m tests.faults.crash_points FOLDER`: a run dies once before every call that changes the disk, and within
its steps; what is resumed must end as if nothing had happened. One line of JSON for each point.

No hook is in the package: the calls are wrapped here, in a child that lives for one death.
"""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.checkpoint.dying import CALLS
from tests.children import run_in_child
from tests.faults.killing import digest, logs
from tests.small_run import small_recipe
from tests.unchecked import model_unchecked
from trimtab.launch import train
from trimtab.step import take_step
from trimtab.step.stepper import Stepper

STEPS = 3
CHANGES = {
    "length": f"{STEPS} steps",
    "step.schedule.warmup": "1 steps",
    "evaluate.every": "2 steps",
    "checkpoint.every": "1 steps",
    "checkpoint.keep": 1,
}
OWN_MARKS = re.compile(r"(?<=-)[0-9a-f]+-[0-9a-f]{4,}|(?<=-)[0-9a-f]{8,}(?!\d)")
"""Process and chance in the names of drafts and trash."""


@dataclass(frozen=True)
class Died:
    """What became of a run that died at a point."""

    point: str
    checkpoint: int
    """The newest step that was committed, 0 for none."""
    step: int
    """Steps that had been taken."""
    as_undisturbed: bool
    """Whether it ended as the run that nobody disturbed."""


def die_everywhere(folder: Path, *, first: int = 0, every: int = 1) -> list[Died]:
    """Dies at point `first` and at every `every`-th after it, until the run has none left."""
    recipe = small_recipe(folder / "data", **CHANGES)
    assert run_in_child(lambda: train_unchecked(recipe, out=folder / "expected")) == 0
    found: list[Died] = []
    number = first
    while (died := die_once(folder, recipe, number)) is not None:
        found.append(died)
        print(json.dumps(asdict(died)), flush=True)
        number += every
    return found


def train_unchecked(recipe: Path, **changes: Any) -> None:
    """The checks of the model, which are no matter of when a run ends, are left out."""
    with model_unchecked():
        train(recipe, **changes)


def die_once(folder: Path, recipe: Path, number: int) -> Died | None:
    """None if the run has fewer points."""
    run, note = folder / "run", folder / "point"
    shutil.rmtree(run, ignore_errors=True)
    note.unlink(missing_ok=True)

    def doomed() -> None:
        _die_at(number, run, note)
        train_unchecked(recipe, out=run)

    code = run_in_child(doomed)
    assert code in (0, -signal.SIGKILL), f"the child failed by itself: {code}"
    if code == 0:
        return None
    told = json.loads(note.read_text())
    steps = [int(path.name[5:]) for path in (run / "checkpoints").glob("step-*")]
    assert (
        run_in_child(lambda: train_unchecked(recipe, out=run, resume=run.exists() and any(run.iterdir())))
        == 0
    ), told
    expected = folder / "expected"
    same = digest(run, STEPS) == digest(expected, STEPS) and once(logs(run)) == once(logs(expected))
    left = [
        path.name for path in (run / "checkpoints").iterdir() if path.name.startswith((".draft", ".trash"))
    ]
    return Died(told["point"], max(steps, default=0), told["step"], same and not left)


def once(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The logs with each finding once: an evaluation that is made again, since its checkpoint was not committed, finds
    again what it found."""
    findings = [
        each for number, each in enumerate(found["findings"]) if each not in found["findings"][:number]
    ]
    return found | {"findings": findings}


def _die_at(number: int, run: Path, note: Path) -> None:
    """Wraps what changes the disk under the run folder, and what a step consists of."""
    process, left, step = os.getpid(), number, 0
    write = os.write

    def pass_by(point: str) -> None:
        nonlocal left
        if left == 0:
            descriptor = real_open(note, os.O_WRONLY | os.O_CREAT, 0o644)
            write(descriptor, json.dumps({"point": point, "step": step}).encode())
            os.kill(process, signal.SIGKILL)
            signal.pause()
        left -= 1

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if (target := _target(name, args, kwargs, run)) is not None:
                pass_by(f"{name} {target}")
            return call(*args, **kwargs)

        return wrapper

    real_open, accumulate, whole = os.open, take_step.accumulate, Stepper.take_step

    def backward(*args: Any, **kwargs: Any) -> Any:
        total = accumulate(*args, **kwargs)
        pass_by(f"after the backward pass of step {step + 1}")
        return total

    def steps(*args: Any, **kwargs: Any) -> Any:
        nonlocal step
        pass_by(f"before step {step + 1}")
        take_step.accumulate = backward
        report = whole(*args, **kwargs)
        take_step.accumulate = accumulate
        step += 1
        pass_by(f"after step {step}")
        return report

    for name in (*CALLS, "write"):
        setattr(os, name, counted(name, getattr(os, name)))
    Stepper.take_step = steps


def _target(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], run: Path) -> str | None:
    """What a call changes, without what is another in each process; None for what is not in the run folder."""
    if name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return None
    if kwargs.get("dir_fd") is not None:
        return str(args[0])
    given = os.readlink(f"/proc/self/fd/{args[0]}") if isinstance(args[0], int) else os.fspath(args[0])
    path = Path(given).absolute()
    if not path.is_relative_to(run.absolute()):
        return None
    return OWN_MARKS.sub("*", str(path.relative_to(run.absolute())))


if __name__ == "__main__":
    first, every = (int(word) for word in [*sys.argv[2:], "0", "1"][:2])
    die_everywhere(Path(sys.argv[1]), first=first, every=every)
