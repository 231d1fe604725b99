"""Runs of several ranks, each a `trimtab train` of its own; one of them is killed at a random moment.

The ranks meet at a store of this process, as those of torchrun do at one of the launcher, so that any may be killed.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch.distributed import TCPStore

from tests.children import Command
from tests.faults.gate import opened, wait
from tests.faults.killing import CHANGES, LONGEST_WAIT, Moment, gate_step, newest, waiting
from tests.small_run import small_recipe

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Lost:
    """What a killed rank left."""

    rank: int
    codes: list[int | None]
    """Exit codes by rank."""
    seconds: float
    """From the kill until all others had ended."""
    named: list[int]
    """The ranks whose messages name the killed one."""
    checkpoint: int
    """The newest committed step; -1 where there is none."""


def ranked_recipe(folder: Path, *, steps: int, **changes: object) -> Path:
    """A tiny run with dropout, several micro-batches a step and a checkpoint every few steps."""
    several = {"step.tokens_per_micro_batch": 64, "data.workers": 0}
    return small_recipe(folder, **{"length": f"{steps} steps", **CHANGES, **several, **changes})


@contextmanager
def started(
    recipe: Path,
    run: Path,
    *overrides: str,
    world_size: int,
    resume: bool,
    gate: tuple[int, str] | None = None,
) -> Iterator[list[Command]]:
    """Ranks that have been started; those that still run at the end of the block are killed. With a gate they wait
    before a step until its file is there."""
    store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    command = ["train", recipe, *overrides, "--out", run, *(["--resume"] if resume else [])]

    def as_rank(rank: int) -> Command:
        place = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(world_size),
            "LOCAL_WORLD_SIZE": str(world_size),
            "MASTER_ADDR": HOST,
            "MASTER_PORT": str(store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }

        def first() -> None:
            from trimtab import launch  # late, as in `tests/unchecked.py`
            from trimtab.training.preflight.every_check import of_the_data

            launch.preflight = of_the_data
            os.environ.update(place if world_size > 1 else {})
            if gate is not None:
                wait(step=gate[0], gate=gate[1])

        return Command(*command, first=first)

    processes = [as_rank(rank) for rank in range(world_size)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        del store


def finish(recipe: Path, run: Path, *overrides: str, world_size: int, resume: bool) -> None:
    """Trains to the end."""
    with started(recipe, run, *overrides, world_size=world_size, resume=resume) as processes:
        for process in processes:
            said = process.communicate(timeout=10 * LONGEST_WAIT)[1]
            assert process.returncode == 0, said


def lose_in_turn(
    recipe: Path, run: Path, when: Sequence[tuple[Moment, int]], *, world_size: int
) -> list[Lost]:
    """Begins the run, then resumes it, as often as there are moments, in each of which a rank is killed."""
    return [lose_one(recipe, run, moment, rank, world_size=world_size) for moment, rank in when]


def lose_one(recipe: Path, run: Path, moment: Moment, rank: int, *, world_size: int) -> Lost:
    """Kills a rank; the others end by themselves."""
    until = max(moment.step, newest(run) + 1)
    gate = run.with_name(f"{run.name}-gate")
    gate.unlink(missing_ok=True)
    resume = run.exists() and any(run.iterdir())
    with started(
        recipe, run, world_size=world_size, resume=resume, gate=(gate_step(until), str(gate))
    ) as processes:
        for _ in waiting(processes[rank]):
            if newest(run) >= until or (moment.step == 0 and (run / "recipe.yaml").exists()):
                break
        time.sleep(moment.seconds)
        processes[rank].send_signal(signal.SIGKILL)
        opened(gate)
        killed = time.perf_counter()
        said = [each.communicate(timeout=LONGEST_WAIT)[1] for each in processes]
        seconds = time.perf_counter() - killed
    name = f"rank {rank} (process {processes[rank].pid})"
    return Lost(
        rank,
        [each.returncode for each in processes],
        round(seconds, 2),
        [other for other, text in enumerate(said) if other != rank and name in text],
        newest(run),
    )
