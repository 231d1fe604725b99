"""The checkpoints of one run: committed whole or not at all, found again after any death, never silently lost.

A save goes: copy to host memory; a draft folder on the same file system; each file written, hashed, synced, the
manifest last; the draft synced; renamed; the parent synced; then what is no longer kept is renamed and removed.
`step_folders` says what each name in the folder means.
"""

import copy
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from trimtab.checkpoint.disk_space import check_disk_space, failures_reported
from trimtab.checkpoint.durable import sync_folder
from trimtab.checkpoint.find import best_step, newest_before
from trimtab.checkpoint.healthy import is_marked, put_mark
from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.log_findings import Tell, log_finding
from trimtab.checkpoint.manifest import Damaged, Manifest, NewerFormat
from trimtab.checkpoint.retention import delete, discard, surplus
from trimtab.checkpoint.save import Contents, take_contents, write_checkpoint
from trimtab.checkpoint.step_folders import (
    draft_name,
    ever_committed,
    list_abandoned,
    list_drafts,
    list_steps,
    list_trash,
    set_aside,
    step_name,
)
from trimtab.checkpoint.store_findings import (
    abandoned,
    abandoned_removed,
    damaged,
    foreign_file,
    newer,
    not_marked,
)
from trimtab.errors import DiskFull, InputError, NothingToResume, RunFailed, input_error
from trimtab.types import TrainState

MOST_ABANDONED = 3
"""Checkpoints of branches that the run left; where there are more, only those of the newest such branch stay."""


class CheckpointStore:
    """Saves and finds the checkpoints of one run, in a folder that this process alone writes to (`RunFolder`)."""

    def __init__(self, folder: Path, *, keep: int, settling: int = 0, tell: Tell = log_finding) -> None:
        """Makes the folder if need be, and finishes or removes what a process that died in it left behind.

        `settling` is how many steps later a checkpoint may be marked healthy; see `retention.surplus`. Raises
        InputError if the folder is a link: what is written into a run stays in it.
        """
        assert keep >= 1, keep
        self.folder = folder
        self.keep = keep
        self.settling = settling
        self.tell = tell
        """Takes the findings of this store."""
        if folder.is_symlink():
            raise input_error(
                f"{folder.name} is a link; trimtab does not change files outside the run",
                fix="move the folder itself into the run, or train elsewhere with --out",
                where=str(folder),
            )
        with failures_reported("checkpoints", folder=folder.parent):
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
            self._recover()

    def save(
        self,
        state: TrainState,
        *,
        model: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        fingerprints: Mapping[str, str],
    ) -> Path:
        """Commits a checkpoint, then removes those no longer kept; the best is the one at `state.best["step"]`.

        On return it is on the disk. Raises DiskFull where the disk is full, RunFailed if writing fails otherwise;
        nothing half-written stays and older checkpoints are intact in both cases.
        """
        return self.write(take_contents(state, model=model, optimizer=optimizer, fingerprints=fingerprints))

    def write(self, contents: Contents) -> Path:
        """Commits what was copied before; otherwise like `save`."""
        draft = self.folder / draft_name(contents.step)
        left_before = list_abandoned(self.folder)
        with failures_reported(
            f"checkpoint {step_name(contents.step)}", folder=self.folder, needed=contents.size
        ):
            self.check_disk_space(int(1.1 * contents.size))
            parent = newest_before(self.folder, contents.step)
            try:
                manifest = write_checkpoint(draft, contents, parent=parent and parent.manifest)
                final = self._commit(draft, manifest)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        self._prune(best=contents.best)
        self._forget(left_before)
        return final

    def telling(self, tell: Tell) -> "CheckpointStore":
        """The same store, whose findings go elsewhere."""
        other = copy.copy(self)
        other.tell = tell
        return other

    def check_disk_space(self, bytes_needed: int) -> None:
        """Raises DiskFull where the disk has not that much free."""
        check_disk_space(self.folder, bytes_needed)

    def latest(self) -> Checkpoint | None:
        """The newest sound checkpoint, every byte of it verified; None if none was ever committed.

        Damaged ones are set aside and told. Raises NothingToResume if there were checkpoints and none is sound.
        """
        for step in reversed(list_steps(self.folder)):
            if found := self.at(step):
                return found
        if ever_committed(self.folder):
            raise NothingToResume(
                f"no checkpoint in {self.folder} is sound, and training does not restart from scratch on its own\n"
                f"  got     {', '.join(sorted(os.listdir(self.folder)))}\n"
                f"  fix     restore a checkpoint from a copy, or start a new run with another --out"
            )
        return None

    def mark_healthy(self, step: int) -> bool:
        """Marks the checkpoint of a step as one after which training went on well; whether it is marked now.

        On return the mark is on the disk. If it cannot be written, that is reported and training continues.
        """
        folder = self.folder / step_name(step)
        try:
            found = open_checkpoint(folder)
            if not is_marked(folder, found.manifest):
                put_mark(folder, found.manifest)
        except InputError:  # gone, damaged or of a newer trimtab
            return False
        except (DiskFull, RunFailed) as error:
            self.tell(not_marked(folder, str(error).splitlines()[0]))
            return False
        return True

    def healthy_before(self, step: int) -> Checkpoint | None:
        """The newest checkpoint of this step or an earlier one that is marked healthy, every byte of it verified."""
        for earlier in reversed(list_steps(self.folder)):
            if earlier <= step and self._is_marked(earlier) and (found := self.at(earlier)):
                return found
        return None

    def best(self) -> Checkpoint | None:
        """The checkpoint of the best evaluation, verified; None if it was not saved, or is damaged."""
        step = best_step(self.folder)
        return None if step is None else self.at(step)

    def at(self, step: int) -> Checkpoint | None:
        """The checkpoint of a step, every byte of it verified; None if there is none, or it is damaged."""
        path = self.folder / step_name(step)
        if not os.path.lexists(path):
            return None
        try:
            found = open_checkpoint(path)
            found.verify()
            found.load_state()
        except Damaged as problem:
            self._quarantine(path, problem)
            return None
        except NewerFormat as problem:
            self.tell(newer(path, problem.problems[0].what))
            return None
        for name in found.other_files():
            self.tell(foreign_file(path, name))
        return found

    def _commit(self, draft: Path, manifest: Manifest) -> Path:
        # What was saved beyond this step is a branch that the run has left; as the newest it would win on resume.
        for later in list_steps(self.folder):
            if later > manifest.step:
                self._abandon(
                    self.folder / step_name(later), f"the run went on from before it to {manifest.step}"
                )
        final = self.folder / step_name(manifest.step)
        old = self.at(manifest.step)
        if old and old.manifest.files.model == manifest.files.model and is_marked(final, old.manifest):
            put_mark(draft, manifest)  # what was healthy are the weights
        if old and old.manifest.files == manifest.files:
            return final
        # Where the old folder makes way there is only the draft for a moment; the next start would commit it.
        if old and old.manifest.files.tensors == manifest.files.tensors:
            discard(final, tell=self.tell)
        elif os.path.lexists(final):
            same = old is not None and old.manifest.files.model == manifest.files.model
            what = (
                "continues from its weights with a new optimizer"
                if same
                else "came to this step again with other weights"
            )
            self._abandon(final, f"the run {what}")
        os.rename(draft, final)
        sync_folder(self.folder)
        return final

    def _prune(self, *, best: int | None) -> None:
        """Removes what is not kept. What is seen to be damaged, without hashing all, counts for nothing kept; what the
        older healthy ones are given up for is hashed."""
        steps = [step for step in list_steps(self.folder) if self._looks_sound(step)]
        marked = [step for step in steps if self._is_marked(step)]
        healthy = max(marked, default=None)
        gone = surplus(steps, keep=self.keep, best=best, healthy=healthy, settling=self.settling)
        # Before an older healthy one goes, every byte of the newest is looked at: it will replace the other.
        if healthy is not None and {*marked} & {*gone} and not self.at(healthy):
            if os.path.lexists(self.folder / step_name(healthy)):
                return  # it cannot be set aside either
            self._prune(best=best)
            return
        # A run that goes back knows the best evaluation of that time, so its checkpoint must be there too. Each that
        # stays may be marked later and gone back to, or be the newest sound one at the next start.
        known_best = {self._best_known_at(step) for step in steps if step not in gone}
        for step in gone:
            if step not in known_best:
                discard(self.folder / step_name(step), tell=self.tell)

    def _best_known_at(self, step: int) -> int | None:
        try:
            return open_checkpoint(self.folder / step_name(step)).load_state().best.get("step")
        except InputError:
            return None

    def _looks_sound(self, step: int) -> bool:
        try:
            open_checkpoint(self.folder / step_name(step))
        except Damaged as problem:
            self._quarantine(self.folder / step_name(step), problem)
        except InputError:  # of a newer trimtab, or not ours to read
            pass
        else:
            return True
        return False

    def _is_marked(self, step: int) -> bool:
        folder = self.folder / step_name(step)
        try:
            return is_marked(folder, open_checkpoint(folder).manifest)
        except InputError:
            return False

    def _forget(self, left_before: Sequence[Path]) -> None:
        """Where the run has left another branch just now, those that it left before go, if they are too many."""
        now = list_abandoned(self.folder)
        if len(now) <= max(MOST_ABANDONED, len(left_before)):
            return
        for path in left_before:
            delete(path, tell=self.tell)
        if left_before:
            self.tell(abandoned_removed(self.folder, [path.name for path in left_before]))

    def _recover(self) -> None:
        """A draft that is complete lacked only its rename: it is committed. All other leftovers are removed."""
        for draft, name in list_drafts(self.folder):
            try:
                open_checkpoint(draft, committed_as=name).verify()
                if not os.path.lexists(self.folder / name):
                    os.rename(draft, self.folder / name)
                    sync_folder(self.folder)
            except InputError:
                pass
            delete(draft, tell=self.tell)
        for trash in list_trash(self.folder):
            delete(trash, tell=self.tell)

    def _abandon(self, path: Path, why: str) -> None:
        self.tell(abandoned(path.name, why, kept=set_aside(path, "abandoned")))

    def _quarantine(self, path: Path, problem: Damaged) -> None:
        try:
            kept = set_aside(path, "corrupt")
        except OSError:
            kept = path
        self.tell(damaged(path.name, problem, kept=kept))
