"""Saves a run while it continues training: the loop waits for a copy, a thread does the rest.

At most one save is under way; whatever fails in the thread is raised in the caller's, at the next call. A process that
ends as usual waits for what is under way; one that is killed leaves what a killed `CheckpointStore.save` leaves.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue

from torch import Tensor

from trimtab.checkpoint.copies import Copies, copy_now, fetch
from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.save import Contents
from trimtab.checkpoint.state_file import render_state
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import DiskFull, RunFailed, TrimtabError, is_out_of_memory, ran_out
from trimtab.finding import Finding
from trimtab.run_findings.checkpoints import (
    LAST_CHECKPOINT_NOT_SAVED,
    REPORT_NOT_WRITTEN,
    TRAINING_WAITS_FOR_THE_COPY,
)
from trimtab.types import TrainState


class BackgroundSaver:
    """Saves into a store from a thread of its own; call it from one thread, and the store only when it is idle.

    Findings of the thread wait until the next call and are reported from there, since those who take them, such as
    journals, know of one thread only.
    """

    def __init__(self, store: CheckpointStore) -> None:
        """Nothing is written before the first `begin`."""
        self._tell = store.tell
        self._told: SimpleQueue[Finding] = SimpleQueue()
        self._store = store.telling(self._told.put)
        # One thread, so what is asked for happens in its order; the interpreter waits for it when it ends.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._under_way: list[Future[None]] = []
        self.out_of_memory = ""
        """Why the loop waited for the newest copy to reach host memory; empty if it did not. Told the first time."""
        self._reported_out_of_memory = False

    @property
    def is_idle(self) -> bool:
        """Whether everything that was begun has ended, well or not, and been told."""
        return not self._under_way

    def begin(
        self,
        state: TrainState,
        *,
        model: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        fingerprints: Mapping[str, str],
        beside: Mapping[Path, bytes] | None = None,
    ) -> None:
        """Copies everything as it is now and returns; the thread commits it as `CheckpointStore.save` would.

        `beside` are small reports, put in place once the checkpoint is committed. Waits for the save before, if it is
        still under way; where that failed, its DiskFull or RunFailed is raised and nothing is begun.
        """
        self.finish()
        contents = Contents(
            step=state.step,
            state=render_state(state),
            best=state.best.get("step"),
            model={},
            optimizer={},
            fingerprints=dict(fingerprints),
        )
        copies = copy_now(model), copy_now(optimizer)
        self._note(*copies)
        self._under_way.append(self._thread.submit(self._save, contents, *copies, dict(beside or {})))

    def mark_healthy(self, step: int) -> None:
        """Marks the checkpoint of a step, after what is under way; see `CheckpointStore.mark_healthy`."""
        self._under_way.append(self._thread.submit(self._mark, step))

    def poll(self) -> None:
        """Tells what there is to tell, and raises DiskFull or RunFailed if a save has failed; never waits."""
        while self._under_way and self._under_way[0].done():
            self._finish()
        self._hand_over()

    def finish(self) -> None:
        """Waits for what is under way; tells and raises as `poll` does."""
        while self._under_way:
            wait(self._under_way[:1])
            self._finish()
        self._hand_over()

    def close(self) -> None:
        """Waits for what is under way and ends the thread; reports a failure and does not raise it.

        For the way out after something else has failed: call `finish` before, where nothing has.
        """
        while self._under_way:
            try:
                self.finish()
            except TrimtabError as error:
                self._tell(not_saved(error))
        self._thread.shutdown()

    def __enter__(self) -> "BackgroundSaver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _save(self, contents: Contents, model: Copies, optimizer: Copies, beside: dict[Path, bytes]) -> None:
        try:
            contents.model.update(fetch(model))
            contents.optimizer.update(fetch(optimizer))
            self._store.write(contents)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise RunFailed(no_memory(error, step=contents.step)) from None
        for path, content in beside.items():
            try:
                replace_file(path, content)
            except (DiskFull, RunFailed) as error:
                self._told.put(report_not_written(path, error))

    def _mark(self, step: int) -> None:
        self._store.mark_healthy(step)

    def _finish(self) -> None:
        """Takes the oldest, which has ended, off the list."""
        ended = self._under_way.pop(0)
        self._hand_over()
        ended.result()

    def _hand_over(self) -> None:
        while not self._told.empty():
            self._tell(self._told.get())

    def _note(self, *copies: Copies) -> None:
        self.out_of_memory = next((each.out_of_memory for each in copies if each.out_of_memory), "")
        if self.out_of_memory and not self._reported_out_of_memory:
            self._reported_out_of_memory = True
            self._tell(copied_by_the_loop(self.out_of_memory))


def no_memory(error: Exception, *, step: int) -> str:
    """The error of a checkpoint for which host memory ran out."""
    return (
        f"memory ran out while the checkpoint of step {step} was written: {ran_out(error)}\n"
        "  why     a checkpoint is assembled in host memory: weights and optimizer states\n"
        "  fix     free host memory, then continue with --resume; the previous checkpoint is intact"
    )


def copied_by_the_loop(reason: str) -> Finding:
    """A GPU without room for a second set of weights and moments."""
    return TRAINING_WAITS_FOR_THE_COPY.found(
        f"training waits while a checkpoint is copied to host memory: {reason}"
    )


def not_saved(error: TrimtabError) -> Finding:
    """A save that was under way when the run ended otherwise."""
    return LAST_CHECKPOINT_NOT_SAVED.found(str(error))


def report_not_written(path: Path, error: TrimtabError) -> Finding:
    """A report that could not be put beside its checkpoint."""
    return REPORT_NOT_WRITTEN.found(
        f"{path.name} could not be written: {str(error).splitlines()[0]}; the checkpoint is complete",
        where=str(path),
    )
