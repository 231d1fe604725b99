"""Whether the evaluations of a run that resumes can be compared with those before."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from trimtab.config.run import Recipe
from trimtab.finding import Finding
from trimtab.metrics.catalogue import OF_TRANSLATIONS
from trimtab.run_findings.evaluations import VALIDATION_CHANGED
from trimtab.training.validate import compared_by, is_compared
from trimtab.types import TrainState

SET = "data.valid."
SEARCH = ("recipe.evaluate.lines", "recipe.evaluate.beam")
"""Which lines are translated, and how: scores of the loss do not depend on them."""


def reset_best_if_data_changed(
    recipe: Recipe, state: TrainState, *, before: Mapping[str, str], now: Mapping[str, str]
) -> tuple[TrainState, list[Finding]]:
    """The state of a run that resumes, without its best evaluation where later ones cannot be compared with it; and a
    finding that names every change of the validation.

    `before` and `now` are the fingerprints of the checkpoint and of the run; what the checkpoint of an older version
    does not know counts as unchanged.
    """
    best, sets = state.best, dict(_changed_sets(before, now))
    changes = [f"the validation set {name} {how}" for name, how in sets.items()]
    ends = best.get("set") in sets
    name = recipe.evaluate.best.set or next(iter(recipe.data.valid), "")
    if best and not is_compared(best, compared_by(recipe.evaluate, name)):
        changes.append("evaluate.best names another set or metric, or other weights")
        ends = True
    if best.get("metric") in OF_TRANSLATIONS:
        search = [key for key in SEARCH if key in before and before[key] != now.get(key)]
        changes += [f"{key.removeprefix('recipe.')} was {json.loads(before[key])}" for key in search]
        ends = ends or bool(search)
    if not changes:
        return state, []
    said = "; ".join(changes)
    if not best:
        return state, [VALIDATION_CHANGED.found(said)]
    value = f"{best['metric']} {best['value']:g} of step {best['step']}"
    if not ends:
        return state, [VALIDATION_CHANGED.found(f"{said}; the best so far stays {value}")]
    found = VALIDATION_CHANGED.found(f"{said}; the best so far, {value}, is no longer compared with")
    return replace(state, best={}), [found]


def _changed_sets(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each validation set that is another than before, and how; none where the checkpoint does not know its sets."""
    names = [key for key in {**before, **now} if key.startswith(SET)]
    if not any(key in before for key in names):
        return
    for key in names:
        if before.get(key) == now.get(key):
            continue
        old, new = (each.get(key, "").rpartition(", sha256")[0] for each in (before, now))
        how = f"has other lines: {new}, and {old} before" if old and new else "is new" if new else "is gone"
        yield key.removeprefix(SET), how
