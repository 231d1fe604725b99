"""The folder that a recipe becomes: the names of its files, who may write to it, and what counts as a run."""

import os
import stat
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from trimtab.checkpoint.disk_space import failures_reported, is_full
from trimtab.checkpoint.durable import replace_file, sync_folder
from trimtab.checkpoint.lock import LOCK, Lock
from trimtab.checkpoint.nearby import near_names
from trimtab.checkpoint.permissions import check_permissions
from trimtab.checkpoint.step_folders import ever_committed
from trimtab.distributed import Ranks
from trimtab.distributed.agree import first_rank_first
from trimtab.errors import InputError, NothingToResume, Problem, input_error, reading


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run. Made by `create` or `open` it holds the lock as well; made from a path alone it is for reading.

    A folder is a run as soon as it holds the recipe, metrics, the data's ledger or a committed checkpoint. A process
    that was killed before that left at most a lock and half-made files; such a folder can be resumed, from nothing, or
    begun again.
    """

    path: Path
    writes: bool = True
    """Whether this process writes its logs and checkpoints; of several ranks the first one does."""
    _lock: Lock | None = field(default=None, repr=False, compare=False)

    @classmethod
    def create(cls, path: Path) -> "RunFolder":
        """A locked folder for a new run.

        Raises InputError if a run is in it already, or something of a name that a run uses; where another process
        trains in it, or the folder cannot be created.
        """
        check_free(path)
        _make_folder(path)
        _refuse_what_is_not_ours(path)
        _check_permissions(path)
        lock = Lock(path)
        try:
            _refuse_a_run(path)  # another process may have begun and ended since
        except BaseException:
            lock.release()
            raise
        return cls(path, _lock=lock)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The locked folder of a run that is to continue; whether from a checkpoint or from nothing, the store says.

        Raises NothingToResume if there is no run, InputError if another process trains in it, or where it is
        not this process's to read and write.
        """
        if not is_started(path):
            found = _what_lies_at(path)
            near = near_names(path)
            raise NothingToResume(
                f"no run to resume in {path}\n  got     {found}\n"
                + (f"  near    {', '.join(near)}\n" if near else "")
                + "  fix     name the folder of a run with --out, or drop --resume to start one"
            )
        _refuse_what_is_not_ours(path)
        _check_permissions(path)
        return cls(path, _lock=Lock(path))

    @classmethod
    def for_ranks(cls, path: Path, *, resume: bool, ranks: Ranks) -> "RunFolder":
        """The folder as `open` (with `resume`) or `create` gives it to the first rank, which alone locks it and writes;
        the other ranks wait until it is there, and raise RunFailed where the first rank cannot use it."""
        made = partial(cls.open if resume else cls.create, path)
        return first_rank_first(ranks, made, then=partial(cls, path, writes=False))

    def check_nothing_lost(self) -> None:
        """To be called where no checkpoint is found: NothingToResume if one was once committed.

        The ledger of the data is written beside each checkpoint, after it. Where it is alone, the folder was emptied,
        or the disk that held it is not there; to start again would take the rest of the run as well.
        """
        if not os.path.lexists(self.data_ledger):
            return
        raise NothingToResume(
            f"the checkpoints of {self.path} are gone, and training does not restart from scratch on its own\n"
            f"  got     none in {self.checkpoints}, though {self.data_ledger.name} was written with one\n"
            f"  fix     put them back (is their disk mounted?), or start a new run with another --out"
        )

    @property
    def is_run(self) -> bool:
        """Whether a run was begun here and got as far as leaving something to lose."""
        traces = (self.recipe, self.metrics, self.data_ledger)
        return any(map(os.path.exists, traces)) or ever_committed(self.checkpoints)

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
    def pictures(self) -> Path:
        """Folder of the images that were sampled at each evaluation, by a model that makes images."""
        return self.path / "samples"

    @property
    def sentences(self) -> Path:
        """For each evaluation, length and score of each line that was translated."""
        return self.path / "sentences.jsonl"

    @property
    def facts(self) -> Path:
        """What was known when the run began: machine, command, first examples, planned memory."""
        return self.path / "facts.json"

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
        """Puts the resolved recipe in place as a whole; raises DiskFull."""
        replace_file(self.recipe, text.encode())

    def close(self) -> None:
        """Gives the lock back."""
        if self._lock:
            self._lock.release()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_free(path: Path) -> None:
    """InputError if a new run would write over what is there: a run, or something of others that has the name of a
    file of a run. What a process of ours left that died early has a lock beside it, and may go."""
    _refuse_a_run(path)
    run = RunFolder(path)
    ours = (run.tokenizer, run.checkpoints, run.pictures, *_logs(run))
    taken = [each.name for each in ours if os.path.lexists(each)]
    if taken and not os.path.lexists(path / LOCK):
        raise input_error(
            f"{path} contains files that are not a run's, under names that a run needs",
            got=", ".join(taken),
            allowed="a new or an empty folder, or one without these names",
            fix="name another folder with --out, or move them",
            where=str(path / taken[0]),
        )


def is_started(path: Path) -> bool:
    """Whether there is a run to resume, or one that died before it had anything to lose."""
    if not os.path.isdir(path):
        return False
    return RunFolder(path).is_run or os.path.lexists(path / LOCK)


def _what_lies_at(path: Path) -> str:
    if os.path.isdir(path):
        with reading(path):
            return "a folder with other things" if os.listdir(path) else "an empty folder"
    return "a file" if os.path.exists(path) else "no folder at this path"


def _refuse_a_run(path: Path) -> None:
    if RunFolder(path).is_run:
        with reading(path):
            names = sorted(name for name in os.listdir(path) if not name.startswith("."))
        raise input_error(
            f"{path} already contains a run",
            got=", ".join(names),
            allowed="a folder without a run",
            fix="resume it with --resume, or name another folder with --out",
        )


def _check_permissions(path: Path) -> None:
    run = RunFolder(path)
    check_permissions(
        path, written=(path / LOCK, run.checkpoints, *_logs(run)), read=(run.recipe, run.tokenizer)
    )


def _logs(run: RunFolder) -> tuple[Path, ...]:
    return (
        *(run.metrics, run.evaluations, run.samples, run.sentences),
        *(run.findings, run.quarantine, run.health),
    )


def _refuse_what_is_not_ours(path: Path) -> None:
    """What is written into a run stays in it, even if the folder came from another machine: no links, no pipes."""
    run = RunFolder(path)
    files = (run.recipe, run.data_ledger, *_logs(run))
    problems = [
        Problem(
            what=f"{each.name} of the run is not {kind}, so trimtab does not read or write it",
            got=f"a link to {os.readlink(each)}" if each.is_symlink() else "something else",
            allowed=kind,
            fix=f"put {kind} in its place, or start another run with --out",
            where=str(each),
        )
        for kind, kind_of, paths in (
            ("a plain file", stat.S_ISREG, files),
            ("a folder", stat.S_ISDIR, (run.checkpoints, run.tokenizer, run.pictures)),
        )
        for each in paths
        if os.path.lexists(each) and not kind_of(each.lstat().st_mode)
    ]
    if problems:
        raise InputError(*problems)


def _make_folder(path: Path) -> None:
    with failures_reported(str(path), folder=_nearest_existing(path)):
        try:
            path.mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent)
        except OSError as error:
            if is_full(error):
                raise
            raise input_error(
                f"{path} cannot be made a run folder: {error.strerror}",
                got=error.strerror or str(error),
                allowed="a folder that you may write to",
                fix="name another folder with --out",
                where=str(error.filename or path),
            ) from None


def _nearest_existing(path: Path) -> Path:
    return next((parent for parent in path.absolute().parents if os.path.exists(parent)), Path("/"))
