"""Everything that a run folder says about its run, read without torch and brought up to date while it trains."""

import json
import math
import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.checkpoint.lock import LOCK, has_ended
from trimtab.checkpoint.manifest import MANIFEST, MAX_BYTES, STATE
from trimtab.checkpoint.nearby import near_names
from trimtab.checkpoint.step_folders import list_damaged, list_steps, step_name
from trimtab.config.read_yaml import read_yaml
from trimtab.config.task_facts import facts_of
from trimtab.config.task_record import TASKS, TaskFacts
from trimtab.errors import InputError, input_error
from trimtab.report.log_files import Columns, LogFile, Records, open_plain

TRAINING_S = 120.0
"""A run whose metrics were written within so many seconds is taken to be training still."""
MOST_CHECKPOINTS = 200
PICTURES = "samples"
"""The folder with images of evaluations."""
MOST_PICTURE_FILES = 10_000
TAIL_BYTES = 65_536
MOST_OF_A_LOCK = 200
_RECIPE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """A checkpoint as its folder shows it; nothing is opened but its manifest and state."""

    step: int
    num_bytes: int
    is_best: bool
    parameters: int
    versions: Mapping[str, str]
    is_whole: bool
    """Whether the manifest can be read and every file that it names has its size."""


@dataclass(slots=True)
class RunData:
    """One run. `refresh` brings it up to date."""

    path: Path
    newest_only: bool = False
    """Whether only the last 64 kB of the metrics are read, for a table of many runs."""
    steps: Columns = field(default_factory=Columns)
    evaluations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    health: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    samples: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    sentences: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The newest line of `sentences.jsonl`, whose lines are long."""
    findings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    quarantine: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ledger: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """What was known when the run began."""
    recipe_text: str = ""
    recipe: dict[str, Any] = field(default_factory=dict[str, Any])
    pictures: list[tuple[int, Path]] = field(default_factory=list[tuple[int, Path]])
    """Images of evaluations with their steps, the first step first."""
    checkpoints: list[CheckpointFacts] = field(default_factory=list[CheckpointFacts])
    damaged: list[str] = field(default_factory=list[str])
    written_at: float = 0.0
    """When its metrics were last written, in seconds of the clock of files."""
    read_at: float = 0.0
    own_name: str = ""
    """Set by `name_apart`."""
    is_there: bool = True
    """Whether the folder could be read at the last look."""
    _metrics: LogFile | None = None
    _logs: dict[str, Records] = field(default_factory=dict[str, Records])
    _seen: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """What the run is called: its folder, or what tells it apart from others beside it."""
        return self.own_name or self.path.resolve().name or str(self.path)

    @property
    def is_training(self) -> bool:
        """Whether its metrics were written a moment ago, and not by a process of this machine that has ended."""
        return self.read_at - self.written_at < TRAINING_S and not has_ended(
            _bytes(self.path / LOCK, MOST_OF_A_LOCK)
        )

    def value(self, key: str, default: Any = None) -> Any:
        """What the recipe says at a dotted key."""
        tree: Any = self.recipe
        for part in key.split("."):
            if not isinstance(tree, dict) or part not in tree:
                return default
            tree = tree[part]
        return tree

    @property
    def task_facts(self) -> TaskFacts:
        """What its task decides; those of translation for a task that is not known."""
        task = self.value("task", "translation")
        return facts_of(task if task in TASKS else "translation")

    def last(self, name: str) -> float:
        """The newest number of a column of the metrics that is there; NaN for none."""
        values = self.steps.column(name)
        known = values[~(values != values)]
        return float(known[-1]) if len(known) else math.nan

    def refresh(self) -> bool:
        """Reads what is new; says whether anything is. What was read of a folder stays while it is deleted."""
        self.read_at = time.time()
        if not self.path.is_dir() or (self.recipe_text and not (self.path / "recipe.yaml").exists()):
            changed, self.is_there = self.is_there, False
            return changed
        changed, self.is_there = not self.is_there, True
        changed |= self._refresh_logs()
        seen = (
            _stamp(self.path / "recipe.yaml"),
            _stamp(self.path / "data_ledger.json"),
            _stamp(self.path / "facts.json"),
            self._steps_on_disk(),
            _stamp(self.path / PICTURES),
        )
        if seen != self._seen:
            self._seen, changed = seen, True
            self._read_recipe()
            self.ledger = _corpora(_json(self.path / "data_ledger.json"))
            facts = _json(self.path / "facts.json")
            self.facts = facts if isinstance(facts, dict) else {}
            self.checkpoints = list(_checkpoints(self.path / "checkpoints", seen[3]))
            self.pictures = list(_pictures(self.path / PICTURES))
        return changed

    def _refresh_logs(self) -> bool:
        if self._metrics is None:
            place = self.path / "metrics.jsonl"
            self._metrics = LogFile(
                place, offset=max(0, _size(place) - TAIL_BYTES) if self.newest_only else 0
            )
            for name in ("evaluations", "health", "samples", "findings", "quarantine"):
                self._logs[name] = Records(LogFile(self.path / f"{name}.jsonl"))
            if not self.newest_only:
                self._logs["sentences"] = Records(LogFile(self.path / "sentences.jsonl"), deque(maxlen=1))
        changed = self._metrics.has_changed()
        if changed:
            could = self._metrics.is_readable
            if self._metrics.is_new:
                self.steps.clear()
            self.steps.extend(self._metrics.read_new())
            self.written_at = _stamp(self._metrics.path)[0]
            changed = could or self._metrics.is_readable
        for name, records in self._logs.items():
            if records.refresh():
                changed = True
                setattr(self, name, list(records.kept))
        return changed

    @property
    def log_problems(self) -> list[str]:
        """What of the logs could not be read, in sentences."""
        files = [each for each in (self._metrics, *(log.file for log in self._logs.values())) if each]
        return [problem for each in files for problem in each.problems]

    def _steps_on_disk(self) -> tuple[int, ...]:
        try:
            self.damaged = list_damaged(self.path / "checkpoints")
            return tuple(list_steps(self.path / "checkpoints")[-MOST_CHECKPOINTS:])
        except InputError:
            return ()

    def _read_recipe(self) -> None:
        content = _bytes(self.path / "recipe.yaml", _RECIPE_BYTES)
        self.recipe_text = content.decode("utf-8", "replace")
        try:
            tree = read_yaml(self.recipe_text, name="recipe.yaml").value
        except InputError:  # shown as text; a recipe that cannot be read spoils no report
            tree = None
        self.recipe = tree if isinstance(tree, dict) else {}


def name_apart(runs: Sequence[RunData]) -> None:
    """Gives runs whose folders have the same name as much of their paths as tells them apart, and a number to a run
    that is there twice."""
    parts = [run.path.resolve().parts for run in runs]
    for number, (run, own) in enumerate(zip(runs, parts, strict=True)):
        others = [each for at, each in enumerate(parts) if at != number and each != own]
        sizes = range(1, len(own) + 1)
        size = next((n for n in sizes if all(each[-n:] != own[-n:] for each in others)), len(own))
        copy = parts[:number].count(own)
        name = "/".join(own[-size:]) + (f" ({copy + 1})" if copy else "")
        run.own_name = name if size > 1 or copy else ""


def is_run(path: Path) -> bool:
    """Whether a folder is a run, or one that has just begun; a recipe alone is none."""
    has = {name: (path / name).exists() for name in ("recipe.yaml", "metrics.jsonl", "checkpoints", LOCK)}
    return has["metrics.jsonl"] or (has["recipe.yaml"] and (has["checkpoints"] or has[LOCK]))


def open_run(path: Path, *, newest_only: bool = False) -> RunData:
    """A run folder, read once. Raises InputError, saying what is near, where there is no run."""
    if not is_run(path):
        raise _no_run(path)
    if not os.access(path, os.R_OK | os.X_OK):
        raise input_error(
            f"{path} cannot be read",
            got="Permission denied",
            allowed="a folder that you may read",
            fix="make it readable, or copy the run",
            where=str(path),
        )
    run = RunData(path, newest_only)
    run.refresh()
    return run


def _no_run(path: Path) -> InputError:
    allowed = "the folder of a run"
    if not os.path.lexists(path):
        near = near_names(path)
        whole, at, _ = str(path).rpartition("@")
        fix = f"did you mean {' or '.join(near)}?" if near else "name the folder of a run"
        if at and os.path.isdir(whole):
            fix = f"name the run alone, {whole}, without a checkpoint"
        return input_error(
            f"no such run: {path}", got="no file or folder at this path", allowed=allowed, fix=fix
        )
    if not os.path.isdir(path):
        return input_error(
            f"{path} is not a run",
            got="a file",
            allowed=allowed,
            fix="name a folder that `trimtab train` made",
        )
    inside = sorted(str(each.parent) for each in path.glob("*/recipe.yaml"))[:5]
    fix = f"did you mean {' or '.join(inside)}?" if inside else "name a folder that `trimtab train` made"
    return input_error(f"{path} is not a run", got="no recipe.yaml in it", allowed=allowed, fix=fix)


def _checkpoints(folder: Path, steps: tuple[int, ...]) -> Iterator[CheckpointFacts]:
    best = _best_step(folder, steps)
    for step in steps:
        place = folder / step_name(step)
        manifest = _json(place / MANIFEST)
        manifest = manifest if isinstance(manifest, dict) else {}
        files = manifest.get("files")
        sizes = {name: _size(place / name) for name in _plain_names(files)}
        whole = bool(sizes) and all(
            isinstance(files[name], dict) and files[name].get("size") == size for name, size in sizes.items()
        )
        versions = manifest.get("versions")
        yield CheckpointFacts(
            step=step,
            num_bytes=sum(sizes.values()) + _size(place / MANIFEST),
            is_best=step == best,
            parameters=_parameters(manifest),
            versions={str(k): str(v)[:80] for k, v in versions.items()} if isinstance(versions, dict) else {},
            is_whole=whole,
        )


def _pictures(folder: Path) -> Iterator[tuple[int, Path]]:
    try:
        names = sorted(os.listdir(folder))[-MOST_PICTURE_FILES:]
    except OSError:
        return
    for name in names:
        if step := re.fullmatch(r"step-(\d{8,12})\.png", name):
            yield int(step[1]), folder / name


def _plain_names(files: Any) -> list[str]:
    return [name for name in files if re.fullmatch(r"[\w.]+", name)] if isinstance(files, dict) else []


def _best_step(folder: Path, steps: tuple[int, ...]) -> int:
    """By the newest checkpoint; -1 where none is known."""
    state = _json(folder / step_name(steps[-1]) / STATE) if steps else None
    best = state.get("best") if isinstance(state, dict) else None
    step = best.get("step") if isinstance(best, dict) else None
    return step if isinstance(step, int) else -1


def _parameters(manifest: Mapping[str, Any]) -> int:
    tensors = manifest.get("tensors")
    weights = tensors.get("model.safetensors") if isinstance(tensors, dict) else None
    if not isinstance(weights, dict):
        return 0
    shapes = [each.get("shape") for each in weights.values() if isinstance(each, dict)]
    return sum(math.prod(shape) for shape in shapes if _is_shape(shape))


def _is_shape(shape: Any) -> bool:
    return (
        isinstance(shape, list)
        and len(shape) < 16
        and all(isinstance(n, int) and 0 <= n < 2**40 for n in shape)
    )


def _corpora(ledger: Any) -> list[dict[str, Any]]:
    found = ledger.get("corpora") if isinstance(ledger, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _json(path: Path) -> Any:
    try:
        return json.loads(_bytes(path, MAX_BYTES))
    except (ValueError, RecursionError):
        return None


def _bytes(path: Path, most: int) -> bytes:
    """A small plain file; nothing of one that is missing, unreadable, larger, or no plain file."""
    file = open_plain(path)
    if file is None:
        return b""
    with file:
        return b"" if os.fstat(file.fileno()).st_size > most else file.read(most)


def _size(path: Path) -> int:
    return _stamp(path)[1]


def _stamp(path: Path) -> tuple[float, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return 0.0, 0
    return status.st_mtime, status.st_size
