"""All commands: one function a command, each in its own file; nothing heavy is loaded before a command runs."""

from typing import Annotated, Any

import typer

from trimtab import __version__
from trimtab.cli.average import average
from trimtab.cli.check import run_check
from trimtab.cli.classify import classify
from trimtab.cli.clean import clean
from trimtab.cli.command_help import CheckCommand, HelpfulCommand
from trimtab.cli.completion import completion
from trimtab.cli.convert import convert
from trimtab.cli.detect import detect
from trimtab.cli.evaluate import evaluate
from trimtab.cli.explain import run_explain
from trimtab.cli.export import export
from trimtab.cli.find import learning_rate, micro_batch, noise_scale, rank
from trimtab.cli.fit import fit
from trimtab.cli.generate import generate
from trimtab.cli.init import demo, init
from trimtab.cli.lab import list_experiments
from trimtab.cli.lab import run as run_lab
from trimtab.cli.lab import show as show_experiment
from trimtab.cli.look_up import doctor, rules, schema
from trimtab.cli.plan import tasks as plan_tasks
from trimtab.cli.recognise import recognise
from trimtab.cli.render import render
from trimtab.cli.replay import replay
from trimtab.cli.report import report, watch
from trimtab.cli.runs import runs
from trimtab.cli.sample import sample
from trimtab.cli.score import score
from trimtab.cli.serve import serve
from trimtab.cli.shell import guarded
from trimtab.cli.shortlist import shortlist
from trimtab.cli.tokenizer import compare_tokenizers, inspect, train_tokenizer
from trimtab.cli.train import train
from trimtab.cli.translate import translate
from trimtab.cli.usage import CommandGroup
from trimtab.cli.vocabulary import extend, trim

_HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Of every command below, too."""
app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)
tokenizer_app = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Train and compare tokenizers.")
vocabulary_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Trim or extend the vocabulary of a trained model."
)
lab_app = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Run experiments and show their verdicts.")
find_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Find a learning rate, the batch size, and the largest micro-batch or LoRA rank that fits.",
)
plan_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Plan where the directions of a modular model run."
)
data_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Inspect, clean and render training data."
)


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"trimtab {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Train, evaluate and export transformers for text, text recognition and images, with sound defaults."""


def _check(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Check configurations: recipes and those of other tools."""
    raise typer.Exit(run_check(arguments or []))


def _explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE|NAME|KEY|SYMPTOM",
            help="S104, warmup-longer-than-run, a recipe key such as step.clip.at, or what you see: repeats the same "
            "words; an error message.",
        ),
    ],
) -> None:
    """Explain a rule, a finding or a recipe key, or find what may be behind a symptom."""
    raise typer.Exit(run_explain(words))


# `check` reads its own arguments.
_AS_GIVEN: dict[str, Any] = {
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}
for command in (
    demo,
    train,
    fit,
    translate,
    generate,
    serve,
    classify,
    recognise,
    detect,
    sample,
    evaluate,
    score,
    average,
    export,
    shortlist,
    report,
    watch,
    runs,
    replay,
    init,
    schema,
    rules,
    convert,
    completion,
    doctor,
):
    app.command(cls=HelpfulCommand)(guarded(command))
app.command("check", cls=CheckCommand, context_settings=_AS_GIVEN)(_check)
app.command("explain", cls=HelpfulCommand, context_settings={"ignore_unknown_options": True})(_explain)
tokenizer_app.command("train", cls=HelpfulCommand)(guarded(train_tokenizer))
tokenizer_app.command("compare", cls=HelpfulCommand)(guarded(compare_tokenizers))
data_app.command("inspect", cls=HelpfulCommand)(guarded(inspect))
data_app.command("clean", cls=HelpfulCommand)(guarded(clean))
data_app.command("render", cls=HelpfulCommand)(guarded(render))
vocabulary_app.command("trim", cls=HelpfulCommand)(guarded(trim))
vocabulary_app.command("extend", cls=HelpfulCommand)(guarded(extend))
lab_app.command("list", cls=HelpfulCommand)(guarded(list_experiments))
lab_app.command("run", cls=HelpfulCommand)(guarded(run_lab))
lab_app.command("show", cls=HelpfulCommand)(guarded(show_experiment))
find_app.command("micro-batch", cls=HelpfulCommand)(guarded(micro_batch))
find_app.command("learning-rate", cls=HelpfulCommand)(guarded(learning_rate))
find_app.command("noise-scale", cls=HelpfulCommand)(guarded(noise_scale))
find_app.command("rank", cls=HelpfulCommand)(guarded(rank))
plan_app.command("tasks", cls=HelpfulCommand)(guarded(plan_tasks))
app.add_typer(find_app, name="find")
app.add_typer(plan_app, name="plan")
app.add_typer(lab_app, name="lab")
app.add_typer(vocabulary_app, name="vocabulary")
app.add_typer(tokenizer_app, name="tokenizer")
app.add_typer(data_app, name="data")
