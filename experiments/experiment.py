"""What an experiment is and how it is run: a question, arms that differ in one thing, a prediction, a rule to decide.

    python experiments/NAME.py [--quick] [--out FILE]

writes `experiments/NAME.json`, or with --quick the smallest size to FILE alone. The verdict follows from the numbers
by `decide`; a result that is not as predicted stays as it is.
"""

import argparse
import hashlib
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Numbers = dict[str, Any]
"""Plain numbers, texts and lists and dicts of them: what goes into the result."""

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence with its numbers, and whether they bear it out."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One question, asked of every seed in the same way."""

    name: str
    """The file's name without its ending."""
    question: str
    arms: tuple[str, ...]
    """What is compared; they differ in one thing."""
    measure: Callable[[int, bool], Numbers]
    """The numbers of one seed; True for the smallest size."""
    measures: str
    """What the numbers are, with units."""
    expect: str
    """The prediction, written before the first run."""
    rule: str
    """How `decide` judges, in words."""
    decide: Callable[[Mapping[str, Any]], Sequence[Claim]]
    """The claims that follow from a result, and only from it."""
    budget: str
    supports: tuple[str, ...]
    """Claims that it tests, by the labels that rules carry as `tips`."""
    seeds: tuple[int, ...] = (1, 2, 3)
    packages: tuple[str, ...] = ("torch", "trimtab")
    """Whose versions matter."""
    on_gpu: bool = False
    """Whether it measures a GPU, and needs one."""


def run(experiment: Experiment, *, quick: bool = False) -> Numbers:
    """Measures every seed, or one at the smallest size, and judges."""
    started = time.perf_counter()
    seeds = experiment.seeds[:1] if quick else experiment.seeds
    result: Numbers = {
        "experiment": experiment.name,
        "question": experiment.question,
        "arms": list(experiment.arms),
        "measures": experiment.measures,
        "expect": experiment.expect,
        "rule": experiment.rule,
        "budget": experiment.budget,
        "supports": list(experiment.supports),
        "command": f"python experiments/{experiment.name}.py" + (" --quick" if quick else ""),
        "source_sha256": source_hash(experiment.name),
        "hardware": graphics_card() if experiment.on_gpu else processor(),
        "versions": {"python": platform.python_version()}
        | {name: installed(name) for name in experiment.packages},
        "seeds": {str(seed): plain(experiment.measure(seed, quick)) for seed in seeds},
    }
    result["seconds"] = round(time.perf_counter() - started, 1)
    result["verdict"] = verdict(experiment, result)
    return result


def verdict(experiment: Experiment, result: Mapping[str, Any]) -> Numbers:
    """What the numbers of a result say, by the experiment's rule."""
    claims = experiment.decide(result)
    return {
        "as predicted": all(claim.holds for claim in claims),
        "claims": [asdict(claim) for claim in claims],
    }


def main(experiment: Experiment) -> int:
    """The command line of every experiment."""
    parser = argparse.ArgumentParser(description=experiment.question)
    parser.add_argument(
        "--quick", action="store_true", help="one seed at the smallest size; shows that it runs"
    )
    parser.add_argument("--out", type=Path, help="where the result goes; by default beside the experiment")
    args = parser.parse_args()
    if experiment.on_gpu and graphics_card() is None:
        sys.stderr.write(
            f"{experiment.name} measures a GPU\n  got     none that torch sees\n  fix     run it where there is one\n"
        )
        return 2
    result = run(experiment, quick=args.quick)
    default = None if args.quick else FOLDER / f"{experiment.name}.json"
    if out := args.out or default:
        out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for claim in result["verdict"]["claims"]:
        sys.stdout.write(f"{'yes' if claim['holds'] else 'NO '}  {claim['text']}\n")
    sys.stdout.write(f"{experiment.question}\n{result['seconds']} s\n")
    return 0


def source_hash(name: str) -> str:
    """SHA-256 of the experiment's file: a result belongs to one text of it."""
    return hashlib.sha256((FOLDER / f"{name}.py").read_bytes()).hexdigest()


def plain(value: Any) -> Any:
    """Numbers that JSON can hold, to eight digits; infinities and NaN become texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else str(value)
    return value


def installed(package: str) -> str | None:
    """Version of a package, or None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def graphics_card() -> str | None:
    """Name of the GPU; None where there is none."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def processor() -> str:
    """Name of the CPU."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"CPU, {names[0] if names else platform.processor()}"
