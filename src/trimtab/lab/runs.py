"""The runs of an experiment: one for each arm and seed, and what tells two runs apart."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from trimtab.config.load import load_recipe
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.render import render_recipe
from trimtab.errors import InputError, Problem, input_error
from trimtab.lab.experiment import RECIPE, Experiment, Loaded
from trimtab.lab.verdict import AGAIN

WEIGHTS = 1_000_000_000
"""Added to the seed of the first weights in the A/A pair; seeds of experiments are smaller."""
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
    """SHA-256 of the recipe with everything filled in: runs with the same key are the same run."""


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
        filled = render_recipe(load_recipe(recipe, overrides).recipe)
    except InputError as error:
        raise InputError(*_of_arm(error, loaded, shown)) from None
    key = sha256(json.dumps([recipe.name, filled]).encode()).hexdigest()[:16]
    return Run(arm=shown, seed=seed, recipe=recipe, overrides=overrides, key=key)


def recipe_of(loaded: Loaded, arm: str, *, scale: str | None = None) -> tuple[Path, dict[str, Any]]:
    """The recipe that an arm starts from, and its overrides by dotted key."""
    experiment: Experiment = loaded.experiment
    own = dict(experiment.arms[arm])
    name = str(own.pop(RECIPE, experiment.scale))
    if scale is not None:
        name = scale if name == experiment.scale else f"{scale}{name.removeprefix(experiment.scale)}"
    path = loaded.scales / f"{name}.yaml"
    if not path.is_file():
        known = sorted(each.stem for each in loaded.scales.glob("*.yaml"))
        raise input_error(
            f"{loaded.name}: no such scale",
            got=name,
            allowed=", ".join(known) or f"recipes in {loaded.scales}",
            fix=did_you_mean(nearest_words(name, known)[:1]) or f"write {path}",
        )
    return path, {**experiment.common, **own, **(experiment.quick if scale == TINY else {})}


def _of_arm(error: InputError, loaded: Loaded, arm: str) -> Iterator[Problem]:
    for problem in error.problems:
        yield Problem(
            what=f"experiment {loaded.name}, arm {arm!r}: {problem.what}",
            got=problem.got,
            allowed=problem.allowed,
            fix=problem.fix,
            where=problem.where,
        )
