"""Runs experiments: what `trimtab lab run` does."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import RunFailed, input_error
from trimtab.lab.experiment import Loaded
from trimtab.lab.pool import LASTING, Budget, Cache, Record, make_all
from trimtab.lab.result import commit, hardware, installed, made_result, read_result, write_result
from trimtab.lab.runs import RECIPE_VERSION, Run, runs_of
from trimtab.lab.verdict import AGAIN

Say = Callable[[str], None]
After = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How experiments are run."""

    scale: str | None = None
    """Another scale than the experiments' own; its results are kept under `out` alone."""
    seeds: int | None = None
    """So many of the experiment's seeds; None for all."""
    parallel: int = 1
    """Runs at the same time."""
    device: str | None = None
    """`cpu`, `cuda` or `cuda:N`; None for a GPU where there is one."""
    budget_s: float | None = None
    """After this no run is begun that would end later, and those that still run are stopped."""
    first: tuple[str, ...] = ()
    """Arms that take longest, which are begun first."""
    cache: Path
    """Records of the runs that have ended."""
    out: Path | None = None
    """Where results go, a file for each experiment; None for beside the experiments."""


def run_experiments(
    experiments: Sequence[Loaded], plan: Plan, *, say: Say, after_each: After | None = None
) -> list[dict[str, Any]]:
    """Runs all of them, in order, and writes a result for each; arms that several share are trained once. The A/A pairs
    come last, since no verdict waits for them.

    Results are written after each run that they have, so that whatever ends the process takes nothing that was made;
    `after_each` is called then. Runs that a result already has, from this kind of machine, are not made again.
    Where the budget ends first, results have the seeds that there are, and the same call continues later.

    Raises InputError for an arm that gives no recipe, before anything runs, and RunFailed where a
    process dies.
    """
    with_arms = [each for each in experiments if each.experiment.script is None]
    planned = {each.name: runs_of(each, scale=plan.scale, seeds=plan.seeds) for each in with_arms}
    runs = [run for each in planned.values() for run in each]
    runs.sort(key=lambda run: (run.arm == AGAIN, run.arm not in plan.first))
    machine = hardware(plan.device)
    cache = Cache(plan.cache, place_of(machine), commit=commit())
    for each in with_arms:
        if (path := result_path(each, plan)).is_file():
            take_runs(read_result(path), each, planned[each.name], cache)
    records = {run.key: record for run in runs if (record := cache.get(run)) is not None}
    distinct = {run.key for run in runs}
    say(
        f"{len(runs)} runs in {len(with_arms)} experiments, {len(distinct)} of them distinct, "
        f"{len(records)} done before, on {machine}"
    )
    count = len(records)

    def written(each: Loaded) -> dict[str, Any]:
        kept = {run.key: found for run in planned[each.name] if (found := cache.get(run)) is not None}
        scale = plan.scale or each.experiment.scale
        result = made_result(each, planned[each.name], kept, scale=scale, machine=machine)
        write_result(result_path(each, plan), result)
        return result

    def told(run: Run, record: Record) -> None:
        nonlocal count
        count += 1
        say(f"{count}/{len(distinct)} {progress_line(run, record)}")
        if record["ended"] in LASTING:
            for each in with_arms:
                if any(run.key == other.key for other in planned[each.name]):
                    written(each)
            if after_each is not None:
                after_each()

    budget = Budget(plan.budget_s)
    try:
        make_all(runs, cache=cache, parallel=plan.parallel, device=plan.device, budget=budget, told=told)
    finally:
        results = [written(each) for each in with_arms]
    for each in experiments:
        if each.experiment.script is not None:
            run_script(each, quick=plan.scale is not None, say=say)
    return results


def take_runs(result: Mapping[str, Any], loaded: Loaded, runs: Sequence[Run], cache: Cache) -> int:
    """Records the runs of a result that are those of `runs`, if it was made on such a machine; how many were new.

    Results from before runs were named by `key_of` have no `recipe_version`: their runs are known by arm and seed if
    the experiment's text is the same. Raises InputError for a result of another kind of experiment.
    """
    arms = result.get("arms")
    if arms is None:
        raise input_error(
            f"{loaded.name}: a result without runs",
            got=f"a result of {result['experiment']}",
            allowed="runs by arm and seed",
            fix="name its own result",
        )
    named = "recipe_version" in result
    same_text = result["experiment"] == loaded.name and result.get("experiment_sha256") == loaded.sha256
    if place_of(result["hardware"], result.get("versions", {}).get("torch")) != cache.place:
        return 0
    if named and result["recipe_version"] != RECIPE_VERSION:
        return 0
    count = 0
    for run in runs:
        found = arms.get(run.arm, {}).get(str(run.seed))
        if found is None or found["ended"] not in LASTING or cache.get(run) is not None:
            continue
        if found["key"] == run.key if named else same_text:
            cache.put(run, {"commit": result.get("commit"), **found, "key": run.key})
            count += 1
    return count


def result_path(loaded: Loaded, plan: Plan) -> Path:
    """Beside the experiment where it is run as it is written; otherwise in the folder of the runs."""
    if plan.out is not None:
        return plan.out / f"{loaded.name}.json"
    if plan.scale is not None or plan.seeds is not None:
        return plan.cache / "results" / f"{loaded.name}.json"
    return loaded.result


def progress_line(run: Run, record: Record) -> str:
    """A line about a run that has ended."""
    scores = "  ".join(
        f"{name}: "
        + ", ".join(f"{key} {value:.4g}" for key, value in numbers.items() if key in ("loss", "chrf"))
        for name, numbers in record.get("scores", {}).items()
    )
    error = f": {record['error'].splitlines()[0]}" if "error" in record else ""
    return f"{run.arm}, seed {run.seed}: {record['ended']}{error} in {record['seconds']:.0f} s  {scores}"


def place_of(machine: str, torch: str | None = None) -> str:
    """A name for the machine and a version of torch, by default the one that is installed, for files."""
    return re.sub(r"[^a-z0-9]+", "-", f"{machine} torch {torch or installed('torch')}".lower()).strip("-")


def run_script(loaded: Loaded, *, quick: bool, say: Say) -> None:
    """Runs an experiment that measures by code of its own; it writes its result itself. RunFailed where it fails."""
    script = (loaded.folder / str(loaded.experiment.script)).resolve()
    if not script.is_file():
        raise input_error(
            f"experiment {loaded.name}: its script does not exist",
            got=str(script),
            allowed="the path of a Python file, relative to the experiment's folder",
            fix="correct `script`",
            where=str(loaded.folder / "experiment.yaml"),
        )
    say(f"{loaded.name}: {script.name}" + (", at its smallest size" if quick else ""))
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    if code := subprocess.run(command, check=False).returncode:
        raise RunFailed(f"{script.name} exited with code {code}")
