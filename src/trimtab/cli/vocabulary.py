"""`trimtab vocabulary trim` and `extend`: a trained model with fewer pieces, or with more."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Json
from trimtab.cli.numbers import Range, number_option

if TYPE_CHECKING:
    from trimtab.vocabulary.report import VocabularyReport

ModelOrFolder = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A run (its best checkpoint), RUN@last or RUN@500; or a folder in the form of Hugging Face with "
        "*.safetensors.",
    ),
]
NewFolder = Annotated[
    Path,
    typer.Option(
        metavar="DIR", help="Folder to create: a run if MODEL is one, otherwise in the form of Hugging Face."
    ),
]


class Side(StrEnum):
    """Which vocabulary, where source and target have one each."""

    BOTH = "both"
    SOURCE = "source"
    TARGET = "target"


class Init(StrEnum):
    """How the row of a new piece begins."""

    NORM_MATCHED = "norm_matched"
    MEAN = "mean"


SideOption = Annotated[
    Side, typer.Option(help="Which vocabulary to change where source and target have one each.")
]


def trim(
    model: ModelOrFolder,
    out: NewFolder,
    keep_text: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Text whose pieces stay, in every language of the model; plain, .gz, .xz or .zst; repeatable.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        number_option(
            "--size",
            Range(least=1),
            help="Pieces to keep: the most used of --keep-text, then the most useful of the rest.",
            fix="leave it out to keep what --keep-text needs",
            show_default="what --keep-text needs",
        ),
    ] = None,
    min_count: Annotated[
        int,
        number_option(
            "--min-count",
            Range(least=1),
            help="Drop pieces that --keep-text uses less often.",
            fix="1 keeps every piece that is used",
        ),
    ] = 1,
    side: SideOption = Side.BOTH,
    as_json: Json = False,
) -> None:
    """Drop the pieces of a vocabulary that a text does not need; exit code 1 if anything else would change."""
    from trimtab.vocabulary.surgery import trim_vocabulary

    _print(
        trim_vocabulary(
            model, out=out, keep_text=keep_text or (), size=size, min_count=min_count, side=side.value
        ),
        as_json=as_json,
    )


def extend(
    model: ModelOrFolder,
    text: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Text in the language or domain to add; plain, .gz, .xz or .zst; repeatable.",
        ),
    ],
    add: Annotated[
        int,
        number_option(
            "--add",
            Range(least=1, most=1_000_000),
            help="Pieces to add.",
            fix="some thousands are usual",
            show_default=False,
        ),
    ],
    out: NewFolder,
    init: Annotated[
        Init,
        typer.Option(
            help="Start of a new row: the mean of the rows it replaces, as it is or made as long as they are."
        ),
    ] = Init.MEAN,
    side: SideOption = Side.BOTH,
    as_json: Json = False,
) -> None:
    """Add pieces that shorten a text to a vocabulary; the model then has to be trained on."""
    from trimtab.vocabulary.surgery import extend_vocabulary

    report = extend_vocabulary(model, text=text, add=add, out=out, init=init.value, side=side.value)
    _print(report, as_json=as_json)


def _print(report: "VocabularyReport", *, as_json: bool) -> None:
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
