"""Saves checkpoints while a run trains: what to save, how many failed saves to tolerate, which ones are healthy."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from trimtab.checkpoint.background import BackgroundSaver
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import DiskFull
from trimtab.finding import Finding
from trimtab.model.lora import checkpoint_weights
from trimtab.run_findings.checkpoints import CHECKPOINT_NOT_SAVED
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.training.findings import Findings
from trimtab.types import TrainState

SAVE_TRIES = 3
"""A full disk is met with training on and trying again at the next checkpoint, so many times."""


@runtime_checkable
class GathersTensors(Protocol):
    """Ranks that each hold a part of the weights and states, as `Sharding` and `PlacedRanks` do."""

    def whole(self, tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
        """The whole tensors where `keep` is true; all ranks make this call."""
        ...


@dataclass(slots=True)
class Checkpointer:
    """Saves in the background; a failure is met at the next save, and at the last one at once."""

    folder: RunFolder
    store: CheckpointStore
    model: nn.Module
    optimizer: Optimizer
    healthy_after: int
    """Updates after which a checkpoint is one to go back to."""
    fingerprints: dict[str, str]
    findings: Findings
    is_on: bool = True
    """Whether anything is saved."""
    sharding: GathersTensors | None = None
    """How model and optimizer are sharded over ranks, which then all gather them."""
    saver: BackgroundSaver = field(init=False)
    failed: int = 0
    saved: TrainState | None = None
    waiting: dict[int, int] = field(default_factory=dict[int, int])
    """Checkpoints that are not healthy yet, with the updates of the weights before each."""

    def __post_init__(self) -> None:
        self.saver = BackgroundSaver(self.store)

    def save(self, state: TrainState, *, last: bool) -> None:
        """Begins a checkpoint of this state, on the rank that writes; where it is the last one, it is on the disk on
        return.

        Raises DiskFull where the disk was full too often, or is for the last one; RunFailed if writing failed.
        """
        writes, is_new = self.folder.writes, state != self.saved
        if not self.is_on:
            return
        # All ranks gather, though the one that writes may have saved this state already.
        if self.sharding is not None:
            model, optimizer = (
                self.sharding.whole(each, keep=writes and is_new)
                for each in (checkpoint_weights(self.model), self.optimizer.state_tensors())
            )
        elif writes and is_new:
            model, optimizer = checkpoint_weights(self.model), self.optimizer.state_tensors()
        else:
            model = optimizer = {}
        if not writes or (not is_new and not last):
            return
        self.collect(raising=False)
        if is_new:
            self.mark_healthy(state)
            self.saver.begin(
                state,
                model=model,
                optimizer=optimizer,
                fingerprints=self.fingerprints,
                beside={
                    self.folder.data_ledger: json.dumps(state.data, indent=1, ensure_ascii=False).encode()
                },
            )
            self.saved, self.waiting[state.step] = state, state.updates
        if last:
            self.collect(raising=True)

    def poll(self) -> None:
        """Meets the failure of a save that has ended; never waits."""
        self.meet(self.saver.poll, raising=False)

    def collect(self, *, raising: bool) -> None:
        """Waits for the save under way, and meets its failure."""
        self.meet(self.saver.finish, raising=raising)

    def meet(self, look: Callable[[], None], *, raising: bool) -> None:
        """Tolerates a full disk a few times; `look` reports it."""
        under_way = not self.saver.is_idle
        try:
            look()
        except DiskFull as error:
            self.saved = None
            self.failed += 1
            if raising or self.failed >= SAVE_TRIES:
                raise
            self.findings.tell(disk_full(error, tries_left=SAVE_TRIES - self.failed))
        else:
            self.failed = 0 if under_way and self.saver.is_idle else self.failed

    def mark_healthy(self, state: TrainState) -> None:
        """Marks the checkpoints after which so many updates went well that a run may go back to them.

        Steps that were refused or left out prove nothing. Of a checkpoint that an earlier process took, the updates are
        counted from now on.
        """
        there = list_steps(self.store.folder)
        self.waiting = {step: updates for step, updates in self.waiting.items() if step <= state.step}
        for step in there:
            updates = self.waiting.setdefault(step, state.updates)
            if state.updates - updates >= self.healthy_after:
                self.saver.mark_healthy(step)

    def close(self) -> None:
        """Waits for a save that is under way; reports a failure."""
        self.saver.close()


def disk_full(error: DiskFull, *, tries_left: int) -> Finding:
    """A checkpoint that did not fit on the disk."""
    return CHECKPOINT_NOT_SAVED.found(
        str(error),
        why=f"Training continues; {tries_left} more failed saves end it. The checkpoints before are intact.",
    )
