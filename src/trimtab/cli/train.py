"""`trimtab train`: a recipe becomes a run."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Overrides, RecipeFile, Threads
from trimtab.cli.ranks import launched_rank, ranks_of_launcher, report_once
from trimtab.config.resets import RESETS, check_resumes, parse_reset
from trimtab.errors import InputError, input_error

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

SMOKE_WORKED = "the pipeline works: the model overfitted one batch, to a loss of {:.3f}"


Reset = Annotated[
    str | None,
    typer.Option(
        metavar="PARTS",
        help="With --resume, keep the weights and start these parts over, so that their settings may change: "
        "optimizer (loss, clipping, dropout), schedule (length, warmup), data, best; or learning_rate, which changes "
        "the peak and keeps the position in the schedule.",
        autocompletion=lambda: [*RESETS],
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the run; by default runs/ and the recipe's name."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the newest checkpoint of the run.")]
AutoResume = Annotated[
    bool, typer.Option("--auto-resume", help="Resume the run if it is there, and start it if it is not.")
]
Smoke = Annotated[bool, typer.Option("--smoke", help="Overfit one batch to check the whole pipeline.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only warnings, errors and the path of the run.")]


def train(
    recipe: RecipeFile,
    overrides: Overrides = None,
    out: Out = None,
    resume: Resume = False,
    auto_resume: AutoResume = False,
    reset: Reset = None,
    smoke: Smoke = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Train a model.

    In a terminal a panel shows the loss, the speed, the time left, clipped and skipped steps and the newest sample;
    elsewhere, as in a log, there is a line every ten seconds.

    Recipe keys size the work: step.tokens_per_step is how many target tokens an update learns from,
    step.tokens_per_micro_batch how many the device takes at once (lower it where memory runs out; the update stays the
    same), data.max_tokens the longest example, length how long to train. `trimtab explain KEY` shows any key.
    """
    from trimtab.config.given_path import run_folder
    from trimtab.config.load import load_recipe

    mine, again = launched_rank()
    auto_resume = auto_resume or (again and not resume)
    resumes = resume or auto_resume
    how = resume or ("auto" if auto_resume else False)
    resets = parse_reset(reset or "")
    check_resumes(resets, resume=how)
    with report_once(mine):
        loaded = load_recipe(recipe, overrides or (), begun=run_folder(recipe, out) if resumes else None)
    if smoke and (resumes or out is not None):
        raise smoke_keeps_no_run()
    from trimtab import launch

    if threads is not None:
        from trimtab.device import set_threads

        set_threads(threads)
    from trimtab.cli.live_panel import training_progress
    from trimtab.training.start_clock import mark_command_start

    mark_command_start()
    if smoke:
        with training_progress(quiet=quiet) as progress:
            typer.echo(SMOKE_WORKED.format(launch.smoke(loaded, progress=progress)))
        return
    with (
        training_progress(quiet=quiet or (mine is not None and mine.rank > 0)) as progress,
        ranks_of_launcher(timeout_seconds=60.0 * loaded.recipe.parallel.timeout.count) as ranks,
    ):
        result = launch.train(loaded, out=out, resume=how, reset=resets, progress=progress, ranks=ranks)
        is_first = ranks.is_first
    if is_first:
        typer.echo(f"{result.run}: {result.state.step} steps; {next_command(loaded.recipe, str(result.run))}")
    if not result.ok:
        raise typer.Exit(1)


def smoke_keeps_no_run() -> InputError:
    """The error of options that belong to a run."""
    return input_error(
        "--smoke: does not keep a run",
        got="--smoke with --resume or --out",
        allowed="--smoke alone",
        fix="leave these out",
    )


def next_command(recipe: "Recipe", run: str) -> str:
    """What a trained model is for."""
    if not recipe.checkpoint.write:
        return f"no model is kept (`checkpoint.write: false`); see its numbers with `trimtab report {quote(run)}`"
    if not recipe.facts.writes_text:
        use = f"use it with `{recipe.facts.command}"
    elif recipe.translates:
        use = "translate with `trimtab translate"
    else:
        use = "generate text with `trimtab generate"
    return f"{use} {quote(run)}`"
