"""`trimtab lab`: experiments, each with a claim, a prediction and a verdict."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Json
from trimtab.cli.numbers import Range, number_option
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.lab.experiment import Loaded
    from trimtab.lab.laboratory import Plan

FOLDER = Path("experiments")
RUNS = Path("runs/lab")
ALL = "all"
_UNITS = {"s": 1, "m": 60, "h": 3600}
_BUDGET = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|h)[a-z]*\s*")

Folder = Annotated[Path, typer.Option("--folder", metavar="DIR", help="Folder of the experiments.")]
Records = Annotated[
    Path,
    typer.Option("--runs", metavar="DIR", help="Folder for records of runs; finished runs are not repeated."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for the results; by default, next to each experiment."),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Stop after this time, such as 30s, 10m or 2h. Interrupted runs are repeated next time.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Start from another recipe in scales/; tiny runs on a CPU in seconds."),
]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME ...", help="Experiments, as `trimtab lab list` shows them, or all."),
]


def list_experiments(folder: Folder = FOLDER, as_json: Json = False) -> None:
    """List experiments with their verdicts and questions."""
    from trimtab.lab.table import table_of

    table = table_of(folder)
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in table], ensure_ascii=False, indent=2))
        return
    width = max(len(row.name) for row in table)
    for row in table:
        typer.echo(f"{row.name:<{width}}  {row.verdict:<24}  {row.question}")


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An experiment, as `trimtab lab list` shows it.")
    ],
    folder: Folder = FOLDER,
    result: Annotated[
        Path | None,
        typer.Option("--result", metavar="FILE", help="Show this result instead of the stored one."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show an experiment: its claim, arms, predictions, results and verdict."""
    from trimtab.lab.table import described, row_of

    row = row_of(folder, name, result=result)
    typer.echo(json.dumps(row.to_dict(), ensure_ascii=False, indent=2) if as_json else described(row))


def run(
    names: Names,
    folder: Folder = FOLDER,
    budget: Budget = None,
    scale: Scale = None,
    seeds: Annotated[
        int | None,
        number_option(
            "--seeds", Range(least=2, most=1000), help="Use only the first N seeds.", fix="5 is usual"
        ),
    ] = None,
    parallel: Annotated[
        int,
        number_option(
            "--parallel",
            Range(least=1, most=256),
            help="Runs to train at the same time.",
            fix="1 is the default",
        ),
    ] = 1,
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="cpu, cuda or cuda:N; by default, a GPU if there is one."),
    ] = None,
    runs: Records = RUNS,
    out: Out = None,
) -> None:
    """Run experiments: every arm with every seed, plus an A/A pair that measures noise.

    If several experiments share an arm, it is trained once. The result of an experiment with all its seeds, at its own
    scale, goes to result.json in its folder.
    """
    from trimtab.lab.experiment import load_experiment, names_in
    from trimtab.lab.laboratory import Plan

    chosen = names_in(folder) if names == [ALL] else list(dict.fromkeys(names))
    if _device(device) not in (None, "cpu"):
        from trimtab.device import choose_device

        choose_device(device)  # says so where the GPU is not there; runs would be made on the CPU
    plan = Plan(
        scale=scale,
        seeds=seeds,
        parallel=parallel,
        device=_device(device),
        budget_s=_seconds(budget),
        cache=runs,
        out=out,
    )
    _run(folder, [load_experiment(folder, name) for name in chosen], plan)


def _run(folder: Path, experiments: "list[Loaded]", plan: "Plan") -> None:
    from trimtab.lab.laboratory import result_path, run_experiments
    from trimtab.lab.table import described, row_of

    run_experiments(experiments, plan, say=typer.echo)
    for each in experiments:
        if each.experiment.script is None:
            path = result_path(each, plan)
            row = row_of(folder, each.name, result=path)
            typer.echo("\n" + (described(row) if len(experiments) == 1 else f"{each.name}: {row.verdict}"))
            typer.echo(f"stored in {path}")


def _seconds(budget: str | None) -> float | None:
    if budget is None:
        return None
    found = _BUDGET.fullmatch(budget)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= 1e9:
        raise input_error(
            "--budget: not a time",
            got=budget[:80],
            allowed="a number above 0 and its unit: s, m or h",
            fix="write it like 10m",
        )
    return seconds


def _device(device: str | None) -> str | None:
    if device is not None and not re.fullmatch(r"cpu|cuda(:[0-9]{1,3})?", device):
        raise input_error(
            "--device: unknown",
            got=device[:80],
            allowed="cpu, cuda or cuda:N",
            fix="leave it out to use a GPU if there is one",
        )
    return device
