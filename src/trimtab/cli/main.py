"""The command line: one function a command, each in its own file; nothing heavy is loaded before a command runs."""

from typing import Annotated

import typer

from trimtab import __version__
from trimtab.cli.data import inspect
from trimtab.cli.demo import demo
from trimtab.cli.evaluate import evaluate
from trimtab.cli.init import init
from trimtab.cli.schema import schema
from trimtab.cli.shell import guarded
from trimtab.cli.tokenizer import train_tokenizer
from trimtab.cli.train import train
from trimtab.cli.translate import translate

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
tokenizer_app = typer.Typer(no_args_is_help=True, help="Vocabularies of their own.")
data_app = typer.Typer(no_args_is_help=True, help="A look at what a recipe would train on.")


def main() -> None:
    """Runs the command line; exit codes are those of `trimtab.errors`."""
    app()


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
    """Trains translators with the small decisions right by default."""


for command in (demo, train, translate, evaluate, init, schema):
    app.command()(guarded(command))
tokenizer_app.command("train")(guarded(train_tokenizer))
data_app.command("inspect")(guarded(inspect))
app.add_typer(tokenizer_app, name="tokenizer")
app.add_typer(data_app, name="data")
