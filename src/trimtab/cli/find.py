"""`trimtab find`: settings that are found by trying."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Device, Json, Overrides, RecipeFile, Threads, take_threads
from trimtab.cli.console import ConsoleProgress
from trimtab.cli.numbers import Range, number_option
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.tuning.largest import Largest
    from trimtab.tuning.learning_rate import RateRange

RecipeOrRun = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help="A recipe; or a run at a checkpoint: runs/my (its best), runs/my@last, runs/my@2000.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory limit, such as 24GB; by default what is free on the GPU, or on the host.",
    ),
]
LEAST_RATE, MOST_RATE = 1e-10, 1e3


def _steps(flag_help: str, *, least: int, most: int, usual: int) -> object:
    return number_option(
        "--steps", Range(least=least, most=most), help=flag_help, fix=f"{usual} is the default"
    )


def learning_rate(
    recipe: RecipeOrRun,
    overrides: Overrides = None,
    steps: Annotated[int, _steps("Steps for each rate.", least=2, most=100_000, usual=20)] = 20,
    lowest: Annotated[
        float,
        number_option(
            "--lowest",
            Range(least=LEAST_RATE, most=MOST_RATE, whole=False),
            help="The lowest rate.",
            fix="1e-6 is the default",
        ),
    ] = 1e-6,
    highest: Annotated[
        float,
        number_option(
            "--highest",
            Range(least=LEAST_RATE, most=MOST_RATE, whole=False),
            help="The highest rate; higher ones are left out after two that diverge.",
            fix="1 is the default",
        ),
    ] = 1.0,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Write the plot as SVG.")
    ] = None,
    device: Device = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Find a learning rate: short runs at rising rates, each from the same state (range test, Smith 2017).

    Each rate trains the same steps and is judged by the loss on the next ones. Exits with 1 if no rate lowers the loss.
    """
    if lowest >= highest:
        raise input_error(
            "--lowest: not below --highest",
            got=f"--lowest {lowest:g} --highest {highest:g}",
            allowed="a lower rate and a higher one",
            fix="leave both out for 1e-6 to 1",
        )
    check_plot(plot)
    take_threads(threads)
    from trimtab.tuning.learning_rate import find_learning_rate

    progress = ConsoleProgress()
    try:
        found = find_learning_rate(
            recipe,
            overrides=overrides or (),
            steps=steps,
            lowest=lowest,
            highest=highest,
            device=device,
            progress=progress,
        )
    finally:
        progress.close()
    _show_rates(found, plot=plot, as_json=as_json)
    if found.suggested is None:
        raise typer.Exit(1)


def _show_rates(found: "RateRange", *, plot: Path | None, as_json: bool) -> None:
    from trimtab.tuning.picture import in_characters, svg

    if plot is not None:
        plot.write_text(svg(found), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        encoding = (sys.stdout.encoding or "ascii").lower()
        typer.echo(in_characters(found, is_ascii=not encoding.startswith("utf")))
        typer.echo("")
        if found.suggested is not None:
            typer.echo(
                f"suggested: step.optimizer.learning_rate={found.suggested:g} (the recipe has {found.current:g})"
            )
        typer.echo(found.reason)


def check_plot(plot: Path | None) -> None:
    """Raises InputError for a file that could not be written after minutes of trying."""
    if plot is None:
        return
    if plot.suffix.lower() != ".svg":
        raise input_error(
            f"--plot {plot}: only SVG is written",
            got=plot.suffix or "no ending",
            allowed="a file that ends in .svg, which browsers show",
            fix=f"write `--plot {plot.with_suffix('.svg').name}`",
        )
    if plot.exists() or not plot.parent.is_dir():
        raise input_error(
            f"--plot {plot}: cannot be written",
            got="a file that is there already" if plot.exists() else f"no folder {plot.parent}",
            allowed="a new file in a folder that exists",
            fix="name another file",
        )


def noise_scale(
    recipe: RecipeOrRun,
    overrides: Overrides = None,
    steps: Annotated[
        int, _steps("Steps whose gradients are measured.", least=2, most=100_000, usual=16)
    ] = 16,
    device: Device = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Find the gradient noise scale: the size of a step beyond which more tokens are mostly waste (McCandlish 2018).

    The weights do not move, and nothing is written. The noise scale grows as the loss falls, so measure a run at a
    checkpoint too. Exits with 1 if the mean gradient cannot be distinguished from noise.
    """
    take_threads(threads)
    from math import isfinite

    from trimtab.tuning.noise_scale import advice, find_noise_scale

    progress = ConsoleProgress()
    try:
        found = find_noise_scale(
            recipe, overrides=overrides or (), steps=steps, device=device, progress=progress
        )
    finally:
        progress.close()
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else "\n".join(advice(found)))
    if not isfinite(found.noise_scale):
        raise typer.Exit(1)


def micro_batch(
    recipe: RecipeFile, overrides: Overrides = None, memory: Memory = None, as_json: Json = False
) -> None:
    """Find the largest micro-batch that fits, by training steps of the largest batches in a process of their own.

    A step is cut into equal micro-batches, so tokens_per_step and the updates stay the same. `trimtab fit --solve
    batch` answers at once, without a GPU, by estimate. Exit code 1 where not even the smallest fits.
    """
    from trimtab.tuning.largest import find_micro_batch

    _tell(_found(find_micro_batch, recipe, overrides, memory), as_json=as_json)


def rank(
    recipe: RecipeFile, overrides: Overrides = None, memory: Memory = None, as_json: Json = False
) -> None:
    """Find the largest LoRA rank that fits, from 512 down in halves, at the longest examples of the recipe.

    Each rank trains steps of the largest batches in a process of its own. Exit code 1 where not even rank 1 fits.
    """
    from trimtab.tuning.largest import find_rank

    _tell(_found(find_rank, recipe, overrides, memory), as_json=as_json)


def _found(find: object, recipe: Path, overrides: list[str] | None, memory: str | None) -> "Largest":
    from trimtab.fit.memory_size import parse_memory

    size = None if memory is None else parse_memory(memory, option="--memory")
    progress = ConsoleProgress()
    try:
        return find(recipe, overrides=overrides or (), memory=size, progress=progress)  # type: ignore[operator]
    finally:
        progress.close()


def _tell(found: "Largest", *, as_json: bool) -> None:
    from trimtab.tuning.largest import as_text

    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else as_text(found).rstrip("\n"))
    if not found.fits:
        raise typer.Exit(1)
