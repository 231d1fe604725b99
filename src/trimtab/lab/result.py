"""`result.json`: every seed of every arm, with the machine, the versions and the experiment's text."""

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import Any, cast

from trimtab import __version__
from trimtab.errors import input_error
from trimtab.lab.experiment import Loaded
from trimtab.lab.runs import RECIPE_VERSION, Run
from trimtab.lab.verdict import Scores

PACKAGES = ("trimtab", "torch", "numpy", "sentencepiece", "sacrebleu")
KEPT = ("commit", "ended", "error", "steps", "scores", "skipped", "findings", "seconds", "course")
DIGITS = 8


def made_result(
    loaded: Loaded, runs: Sequence[Run], records: Mapping[str, dict[str, Any]], *, scale: str, machine: str
) -> dict[str, Any]:
    """The result of the runs that have ended."""
    arms: dict[str, dict[str, Any]] = {}
    for run in runs:
        if record := records.get(run.key):
            kept = {name: plain(record[name]) for name in KEPT if name in record}
            arms.setdefault(run.arm, {})[str(run.seed)] = {"key": run.key, **kept}
    return {
        "experiment": loaded.name,
        "experiment_sha256": loaded.sha256,
        "scale": scale,
        "command": f"trimtab lab run {quote(loaded.name)}"
        + ("" if scale == loaded.experiment.scale else f" --scale {scale}"),
        "hardware": machine,
        "versions": {"python": platform.python_version(), **{name: installed(name) for name in PACKAGES}},
        "recipe_version": RECIPE_VERSION,
        "minutes": round(sum(run["seconds"] for seeds in arms.values() for run in seeds.values()) / 60, 2),
        "arms": arms,
    }


def read_result(path: Path) -> dict[str, Any]:
    """A result that was written. Raises InputError where the file is none."""
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise input_error(
            "not a result of an experiment",
            got=str(error)[:200],
            allowed="JSON, as `trimtab lab run` writes it",
            fix="run the experiment again",
            where=str(path),
        ) from None
    if not is_result(value):
        raise input_error(
            "not a result of an experiment",
            got=json.dumps(value)[:80],
            allowed="JSON, as `trimtab lab run` writes it",
            fix="run the experiment again",
            where=str(path),
        )
    return cast("dict[str, Any]", value)


def is_result(value: Any) -> bool:
    """Whether a value has what is read of a result: runs by arm and seed, or the verdict of a script."""
    if not isinstance(value, dict) or "experiment" not in value:
        return False
    whole = cast("dict[str, Any]", value)
    verdict, arms = whole.get("verdict"), whole.get("arms")
    if isinstance(verdict, dict):
        return "as predicted" in verdict
    return (
        isinstance(arms, dict)
        and {"scale", "hardware", "minutes"} <= whole.keys()
        and all(isinstance(seeds, dict) and all(map(str.isdecimal, seeds)) for seeds in arms.values())
        and all(isinstance(run, dict) and "ended" in run for seeds in arms.values() for run in seeds.values())
    )


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def scores_of(loaded: Loaded, result: Mapping[str, Any]) -> Scores:
    """The measure by arm and seed; a run that failed, or has no such number, counts what was written beforehand."""
    measure = loaded.experiment.measure
    assert measure is not None, "an experiment with arms"

    def score(run: Mapping[str, Any]) -> float:
        found = run.get("scores", {}).get(measure.set, {}).get(measure.metric)
        usable = run["ended"] == "finished" and isinstance(found, int | float) and math.isfinite(found)
        return float(found) if usable else measure.failed

    return {
        arm: {int(seed): score(run) for seed, run in seeds.items()} for arm, seeds in result["arms"].items()
    }


def plain(value: Any) -> Any:
    """Numbers that JSON can hold, to eight digits; infinities and NaN become texts."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(key): plain(each) for key, each in items}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    return value


def installed(package: str) -> str | None:
    """Version of a package, or None where it is not installed; trimtab may run from its sources."""
    if package == "trimtab":
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit() -> str | None:
    """The commit that a run is made by, from git, or where there is no repository from the variable GIT_COMMIT."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("GIT_COMMIT")
    return done.stdout.strip()


def hardware(device: str | None) -> str:
    """The name of the GPU, or of the processor where there is none or it was asked for."""
    if device != "cpu":
        import torch

        if torch.cuda.is_available():
            _, _, number = (device or "cuda").partition(":")
            return torch.cuda.get_device_name(int(number or 0))
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"CPU, {names[0] if names else platform.processor()}"
