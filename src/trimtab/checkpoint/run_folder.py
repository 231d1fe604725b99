"""The folder that a recipe becomes: the names of its files, who may write to it, and what counts as a run."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.checkpoint.durable import replace_file, sync_folder
from trimtab.checkpoint.lock import LOCK, Lock
from trimtab.checkpoint.nearby import near_names
from trimtab.checkpoint.room import failures_told, is_full
from trimtab.checkpoint.step_folders import ever_committed
from trimtab.errors import InputError, NothingToResume, Problem, input_error


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run. Made by `create` or `open` it holds the lock as well; made from a path alone it is for reading.

    A folder is a run as soon as it holds the recipe, metrics or a committed checkpoint. A process that was killed
    before that left at most a lock and half-made files; such a folder can be resumed, from nothing, or begun anew.
    """

    path: Path
    _lock: Lock | None = field(default=None, repr=False, compare=False)

    @classmethod
    def create(cls, path: Path) -> "RunFolder":
        """A locked folder for a new run.

        Raises InputError where a run is in it already, another process trains in it, or no folder can be made there.
        """
        _refuse_a_run(path)
        _make_folder(path)
        _refuse_what_is_not_ours(path)
        lock = Lock(path)
        try:
            _refuse_a_run(path)  # another process may have begun and ended since
        except BaseException:
            lock.release()
            raise
        return cls(path, lock)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The locked folder of a run that is to go on; whether from a checkpoint or from nothing, the store says.

        Raises NothingToResume where there is no run, InputError where another process trains in it.
        """
        if not _begun(path):
            found = _what_lies_at(path)
            near = near_names(path)
            raise NothingToResume(
                f"no run to resume in {path}\n  got     {found}\n"
                + (f"  near    {', '.join(near)}\n" if near else "")
                + "  fix     name the folder of a run with --out, or leave --resume out to begin one"
            )
        _refuse_what_is_not_ours(path)
        return cls(path, Lock(path))

    @property
    def is_run(self) -> bool:
        """Whether a run was begun here and got as far as leaving something to lose."""
        return any(map(os.path.exists, (self.recipe, self.metrics))) or ever_committed(self.checkpoints)

    @property
    def recipe(self) -> Path:
        """The resolved recipe."""
        return self.path / "recipe.yaml"

    @property
    def tokenizer(self) -> Path:
        """Folder of the tokenizer."""
        return self.path / "tokenizer"

    @property
    def metrics(self) -> Path:
        """One object a step."""
        return self.path / "metrics.jsonl"

    @property
    def evaluations(self) -> Path:
        """One object an evaluation and set."""
        return self.path / "evaluations.jsonl"

    @property
    def samples(self) -> Path:
        """Translations of the same few lines at each evaluation."""
        return self.path / "samples.jsonl"

    @property
    def findings(self) -> Path:
        """What preflight, guards and checkpoints said."""
        return self.path / "findings.jsonl"

    @property
    def quarantine(self) -> Path:
        """The worst examples of windows that were refused."""
        return self.path / "quarantine.jsonl"

    @property
    def health(self) -> Path:
        """What the watches saw at each evaluation, counted from where the process began."""
        return self.path / "health.jsonl"

    @property
    def data_ledger(self) -> Path:
        """What was read, dropped and truncated, by reason and corpus."""
        return self.path / "data_ledger.json"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    def write_recipe(self, text: str) -> None:
        """Puts the resolved recipe in place as a whole; raises NoRoom."""
        replace_file(self.recipe, text.encode())

    def close(self) -> None:
        """Gives the lock back."""
        if self._lock:
            self._lock.release()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _begun(path: Path) -> bool:
    if not os.path.isdir(path):
        return False
    # An empty folder is what a kill between making it and locking it leaves.
    return RunFolder(path).is_run or (path / LOCK).exists() or not os.listdir(path)


def _what_lies_at(path: Path) -> str:
    if os.path.isdir(path):
        return "a folder with other things"
    return "a file" if os.path.exists(path) else "nothing there"


def _refuse_a_run(path: Path) -> None:
    if RunFolder(path).is_run:
        raise input_error(
            f"{path} holds a run already",
            got=", ".join(sorted(name for name in os.listdir(path) if not name.startswith("."))),
            fix="go on with it by --resume, or name another folder with --out",
        )


def _refuse_what_is_not_ours(path: Path) -> None:
    """What is written into a run stays in it, also where the folder came from somebody else: no links, no pipes."""
    run = RunFolder(path)
    logs = (run.metrics, run.evaluations, run.samples, run.findings, run.quarantine, run.health)
    files = (run.recipe, run.data_ledger, *logs)
    problems = [
        Problem(
            what=f"{each.name} of the run is not {kind}, and nothing is read or written through it",
            got=f"a link to {os.readlink(each)}" if each.is_symlink() else "something else",
            allowed=kind,
            fix=f"put {kind} in its place, or begin another run with --out",
            where=str(each),
        )
        for kind, kind_of, paths in (
            ("a plain file", stat.S_ISREG, files),
            ("a folder", stat.S_ISDIR, (run.checkpoints, run.tokenizer)),
        )
        for each in paths
        if os.path.lexists(each) and not kind_of(each.lstat().st_mode)
    ]
    if problems:
        raise InputError(*problems)


def _make_folder(path: Path) -> None:
    with failures_told(str(path), folder=_nearest_existing(path)):
        try:
            path.mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent)
        except OSError as error:
            if is_full(error):
                raise
            raise input_error(
                f"{path} cannot be made a run folder: {error.strerror}", fix="name another folder with --out"
            ) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise input_error(f"{path} cannot be written to", fix="name another folder with --out")


def _nearest_existing(path: Path) -> Path:
    return next((parent for parent in path.absolute().parents if os.path.exists(parent)), Path("/"))
