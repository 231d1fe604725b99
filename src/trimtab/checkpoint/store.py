"""The checkpoints of one run: committed whole or not at all, found again after any death, never silently lost.

A save goes: copy to host memory; a draft folder on the same file system; each file written, hashed, synced, the
manifest last; the draft synced; renamed; the parent synced; then what is no longer kept is renamed and removed.
What each name in the folder means stands in `step_folders`.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from trimtab.checkpoint.durable import sync_folder
from trimtab.checkpoint.find import best_step, newest_before
from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.manifest import Damaged, Manifest, NewerFormat
from trimtab.checkpoint.retention import delete, discard, surplus
from trimtab.checkpoint.room import check_room, failures_told
from trimtab.checkpoint.save import take_contents, write_checkpoint
from trimtab.checkpoint.step_folders import (
    draft_name,
    ever_committed,
    list_drafts,
    list_steps,
    list_trash,
    set_aside,
    step_name,
)
from trimtab.checkpoint.telling import Tell, log_finding
from trimtab.errors import InputError, NothingToResume
from trimtab.finding import Finding
from trimtab.flow import TrainState


class CheckpointStore:
    """Saves and finds the checkpoints of one run, in a folder that this process alone writes to (`RunFolder`)."""

    def __init__(self, folder: Path, *, keep: int, tell: Tell = log_finding) -> None:
        """Makes the folder if need be, and finishes or removes what a process that died in it left behind."""
        assert keep >= 1, keep
        self.folder = folder
        self.keep = keep
        self._tell = tell
        with failures_told("checkpoints", folder=folder.parent):
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

        On return it is on the disk. Raises NoRoom where the disk is full, RunFailed where writing fails otherwise;
        nothing half-written stays and older checkpoints are intact in both cases.
        """
        contents = take_contents(state, model=model, optimizer=optimizer, fingerprints=fingerprints)
        draft = self.folder / draft_name(state.step)
        with failures_told(f"checkpoint {step_name(state.step)}", folder=self.folder, needed=contents.size):
            self.check_room(int(1.1 * contents.size))
            parent = newest_before(self.folder, contents.step)
            try:
                manifest = write_checkpoint(draft, contents, parent=parent and parent.manifest)
                final = self._commit(draft, manifest)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        for step in surplus(list_steps(self.folder), keep=self.keep, best=state.best.get("step")):
            discard(self.folder / step_name(step), tell=self._tell)
        return final

    def check_room(self, bytes_needed: int) -> None:
        """Raises NoRoom where the disk has not that much free."""
        check_room(self.folder, bytes_needed)

    def latest(self) -> Checkpoint | None:
        """The newest sound checkpoint, every byte of it verified; None where none was ever committed.

        Damaged ones are set aside and told. Raises NothingToResume where there were checkpoints and none is sound.
        """
        for step in reversed(list_steps(self.folder)):
            if found := self.at(step):
                return found
        if ever_committed(self.folder):
            raise NothingToResume(
                f"no checkpoint in {self.folder} is sound, and training does not start again from nothing by itself\n"
                f"  got     {', '.join(sorted(os.listdir(self.folder)))}\n"
                f"  fix     restore a checkpoint from a copy, or begin a new run with another --out"
            )
        return None

    def best(self) -> Checkpoint | None:
        """The checkpoint of the best evaluation, verified; None where it was not saved, or is damaged."""
        step = best_step(self.folder)
        return None if step is None else self.at(step)

    def at(self, step: int) -> Checkpoint | None:
        """The checkpoint of a step, every byte of it verified; None where there is none, or it is damaged."""
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
            fix = "update trimtab; otherwise the run goes on from an older one"
            self._say("K902", "newer-checkpoint", f"left out: {problem.problems[0].what}", path, fix)
            return None
        for name in found.other_files():
            self._say(
                "K906",
                "foreign-file",
                f"{name} does not belong to this checkpoint",
                path,
                "move it elsewhere",
            )
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
        if old and old.manifest.files == manifest.files:
            return final
        # Where the old folder makes way there is only the draft for a moment; the next start would commit it.
        if old and old.manifest.files.tensors == manifest.files.tensors:
            discard(final, tell=self._tell)
        elif os.path.lexists(final):
            self._abandon(final, "the run came to this step again with other weights")
        os.rename(draft, final)
        sync_folder(self.folder)
        return final

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
            delete(draft, tell=self._tell)
        for trash in list_trash(self.folder):
            delete(trash, tell=self._tell)

    def _abandon(self, path: Path, why: str) -> None:
        kept = set_aside(path, "abandoned")
        fix = "delete the folder if that branch is not wanted"
        self._say("K903", "abandoned-checkpoint", f"{path.name} set aside: {why}", kept, fix)

    def _quarantine(self, path: Path, problem: Damaged) -> None:
        try:
            kept = set_aside(path, "corrupt")
        except OSError:
            kept = path
        message = f"{path.name} is not used: {problem.file} {problem.reason}"
        fix = "the next older one is used; put back the file if there is a copy, and look at the health of the disk"
        self._say("K901", "damaged-checkpoint", message, kept, fix)

    def _say(self, code: str, name: str, message: str, path: Path, fix: str) -> None:
        self._tell(
            Finding(code=code, name=name, severity="warning", message=message, fix=fix, where=str(path))
        )
