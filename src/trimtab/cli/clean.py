"""`trimtab data clean`: what the filters of a recipe drop, and files of what they keep."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from trimtab.cli.arguments import Json, Overrides
from trimtab.cli.console import ConsoleProgress
from trimtab.errors import input_error


def _file(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text)


_RECIPE = typer.Argument(
    metavar="RECIPE", help="A recipe, whose `data.transforms` are applied to `data.train`."
)


def clean(
    recipe: Annotated[Path | None, _RECIPE] = None,
    overrides: Overrides = None,
    source: Annotated[
        str | None, _file("FILE", "Without a recipe: source text, or a column of --pairs.")
    ] = None,
    target: Annotated[
        str | None, _file("FILE", "Its translation, line by line, or a column of --pairs.")
    ] = None,
    pairs: Annotated[
        str | None, _file("FILE", "One file of both sides: TSV, JSONL, TMX, XLIFF, PO or Parquet.")
    ] = None,
    source_language: Annotated[
        str | None, _file("CODE", "Drop sources in another language than this.")
    ] = None,
    target_language: Annotated[
        str | None, _file("CODE", "Drop targets in another language than this.")
    ] = None,
    out: Annotated[
        Path | None, _file("DIR", "New folder for the kept pairs, and for what each filter dropped.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what each filter drops of a parallel corpus, and write what is kept, without training.

    With a recipe its `data.transforms` are applied; two files are cleaned by the usual filters. Exit code 1 if nothing
    is kept of a corpus.
    """
    given = {
        "--source": source,
        "--target": target,
        "--pairs": pairs,
        "--source-language": source_language,
        "--target-language": target_language,
    }
    _check(recipe, {name: value for name, value in given.items() if value is not None})
    from trimtab.cleaning import clean_files, clean_recipe, render_clean
    from trimtab.config.load import load_recipe

    progress = ConsoleProgress()
    if recipe is not None:
        report = clean_recipe(load_recipe(recipe, overrides or ()), out=out, progress=progress)
    else:
        report = clean_files(
            _column(source or "", pairs),
            _column(target or "", pairs),
            pairs=pairs,
            source_language=source_language,
            target_language=target_language,
            out=out,
            progress=progress,
        )
    typer.echo(json.dumps(asdict(report), ensure_ascii=False, indent=2) if as_json else render_clean(report))
    if report.problems:
        raise typer.Exit(1)


def _check(recipe: Path | None, given: dict[str, str]) -> None:
    if recipe is not None and given:
        raise input_error(
            f"{' and '.join(given)}: given beside a recipe, which names its own files",
            got=f"{recipe} and {' and '.join(given)}",
            allowed="a recipe, or files by options",
            fix="leave out the recipe or the options; in a recipe, languages are the transform "
            "{kind: language, source: en, target: de}",
        )
    if recipe is None and (missing := [name for name in ("--source", "--target") if not given.get(name)]):
        raise input_error(
            "no recipe, and no files" if len(missing) == 2 else f"{missing[0]}: missing",
            got=" ".join(f"{name} {value}" for name, value in given.items()) or "nothing",
            allowed="RECIPE, or --source FILE --target FILE, or --pairs FILE with both as columns",
            fix="name the recipe, or both files",
        )


def _column(name: str, pairs: str | None) -> str | int:
    """A number is a column of a table, counted from 1."""
    return int(name) if pairs is not None and name.isdecimal() else name
