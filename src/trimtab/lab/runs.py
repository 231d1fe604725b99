"""The runs of an experiment: one for each arm and seed, and what tells two runs apart."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from trimtab.config.load import LoadedRecipe, load_recipe
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.paths import resolve_paths
from trimtab.config.tokenizer import ByteTokenizer
from trimtab.errors import InputError, Problem, input_error
from trimtab.lab.experiment import RECIPE, Experiment, Loaded
from trimtab.lab.verdict import AGAIN

WEIGHTS = 1_000_000_000
"""Added to the seed of the first weights in the A/A pair; seeds of experiments are smaller."""
RECIPE_VERSION = 1
"""Raise it when trimtab changes what a written recipe means: another default, another order of the data, other
arithmetic. Runs recorded before then count as other runs. A new key that changes nothing by default leaves it as it is.
"""
TINY = "tiny"
"""The scale at which every experiment runs on a CPU, to see that it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training run, to be made by `trimtab.train`."""

    arm: str
    seed: int
    recipe: Path
    overrides: dict[str, Any]
    key: str
    """From `key_of`: runs with the same key are the same run."""


def runs_of(loaded: Loaded, *, scale: str | None = None, seeds: int | None = None) -> list[Run]:
    """All runs, seed by seed; the A/A pair last, since it is about no arm.

    Raises InputError where an arm gives no recipe, with the arm's name.
    """
    experiment = loaded.experiment
    chosen = experiment.seeds[:seeds]
    arms = [experiment.reference, *(arm for arm in experiment.arms if arm != experiment.reference)]
    found = [_run(loaded, arm, seed, scale) for seed in chosen for arm in arms]
    return [*found, *(_again(loaded, seed, scale) for seed in chosen)]


def _run(loaded: Loaded, arm: str, seed: int, scale: str | None) -> Run:
    return _made(loaded, (arm, arm), seed, scale, {"seed": seed})


def _again(loaded: Loaded, seed: int, scale: str | None) -> Run:
    own = {"seed": seed + WEIGHTS, "data.seed": seed}
    return _made(loaded, (loaded.experiment.reference, AGAIN), seed, scale, own)


def _made(loaded: Loaded, arms: tuple[str, str], seed: int, scale: str | None, own: dict[str, Any]) -> Run:
    arm, shown = arms
    recipe, overrides = recipe_of(loaded, arm, scale=scale)
    overrides = {**overrides, **own}
    try:
        key = key_of(load_recipe(recipe, overrides))
    except InputError as error:
        raise InputError(*_of_arm(error, loaded, shown)) from None
    return Run(arm=shown, seed=seed, recipe=recipe, overrides=overrides, key=key)


def key_of(loaded: LoadedRecipe) -> str:
    """What tells a run from others: what its recipe and overrides say, without the defaults that trimtab fills in, and
    what its corpora contain.

    A key that is added to recipes therefore leaves the records of all earlier runs usable. `RECIPE_VERSION` stands for
    what the defaults mean. Where the corpora are (`data.root`) makes no difference.
    """
    written = {**loaded.tree, "data": {**loaded.tree.get("data", {}), "root": None}}
    whole = {"version": RECIPE_VERSION, "recipe": written, "data": fingerprints(loaded)}
    return sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()[:16]


def fingerprints(loaded: LoadedRecipe) -> Mapping[str, list[str]]:
    """SHA-256 of the files that a recipe trains on, validates on and takes its tokenizers from, by key; of a folder,
    all files below it. A file that is missing gets its name, since the run will say so."""
    data = resolve_paths(loaded).data
    found: dict[str, list[str]] = {}
    for key, files in data.files_by_key.items():
        paths: list[str] = []
        files.with_paths(lambda path, paths=paths: paths.append(path) or path)
        found[key] = [each for path in paths for each in _contents(Path(path))]
    for key, tokenizer in (("tokenizer", data.tokenizer), ("source_tokenizer", data.source_tokenizer)):
        if tokenizer is not None and not isinstance(tokenizer, ByteTokenizer) and tokenizer.path is not None:
            found[f"data.{key}"] = _contents(Path(tokenizer.path))
    return found


def _contents(path: Path) -> list[str]:
    if path.is_dir():
        files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        plain = sorted(filter(os.path.isfile, files), key=lambda file: file.split(os.sep))
        return [_digest(each, *_state(each)) for each in plain]
    return [_digest(str(path), *_state(str(path))) if path.is_file() else path.name]


def _state(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=1 << 20)
def _digest(path: str, _size: int, _changed_ns: int) -> str:
    """Read once for all runs on it, unless it changes meanwhile; a folder of images is many files."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def recipe_of(loaded: Loaded, arm: str, *, scale: str | None = None) -> tuple[Path, dict[str, Any]]:
    """The recipe that an arm starts from, and its overrides by dotted key."""
    experiment: Experiment = loaded.experiment
    own, quick = dict(experiment.arms[arm]), dict(experiment.quick if scale == TINY else {})
    name = str(own.pop(RECIPE, experiment.scale))
    instead = str(quick.pop(RECIPE, scale))
    if scale is not None:
        name = instead if name == experiment.scale else f"{scale}{name.removeprefix(experiment.scale)}"
    path = loaded.scales / f"{name}.yaml"
    if not path.is_file():
        known = sorted(each.stem for each in loaded.scales.glob("*.yaml"))
        raise input_error(
            f"{loaded.name}: no such scale",
            got=name,
            allowed=", ".join(known) or f"recipes in {loaded.scales}",
            fix=did_you_mean(nearest_words(name, known)[:1]) or f"write {path}",
        )
    return path, {**experiment.common, **own, **quick}


def _of_arm(error: InputError, loaded: Loaded, arm: str) -> Iterator[Problem]:
    for problem in error.problems:
        yield Problem(
            what=f"experiment {loaded.name}, arm {arm!r}: {problem.what}",
            got=problem.got,
            allowed=problem.allowed,
            fix=problem.fix,
            where=problem.where,
        )
