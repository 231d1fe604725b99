"""`trimtab tokenizer` and `trimtab data inspect`: vocabularies, trained and compared, and a report on data."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Json, Overrides, RecipeFile
from trimtab.cli.console import ConsoleProgress
from trimtab.errors import input_error

COVERAGE = 0.9995
SMALLEST_BYTE_LEVEL = 300
"""As in recipes; 256 bytes and some more."""


class Model(StrEnum):
    """How pieces are chosen."""

    UNIGRAM = "unigram"
    BPE = "bpe"
    BYTE_LEVEL_BPE = "byte_level_bpe"
    SUPERBPE = "superbpe"


TransitionSize = Annotated[
    int | None,
    typer.Option(
        min=300,
        help="With superbpe, number of pieces before merges may cross spaces; by default half of the vocabulary.",
    ),
]


def train_tokenizer(
    files: Annotated[
        list[Path],
        typer.Option("--input", metavar="FILE", help="Text, plain, .gz, .xz or .zst; repeatable."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the tokenizer.")],
    vocabulary_size: Annotated[
        int, typer.Option(min=64, max=1_000_000, help="Pieces, special ones included.")
    ] = 16000,
    model: Annotated[Model, typer.Option(help="How pieces are chosen.")] = Model.UNIGRAM,
    coverage: Annotated[
        float,
        typer.Option(
            "--character-coverage", min=0.95, max=1.0, help="Share of characters with their own piece."
        ),
    ] = COVERAGE,
    byte_fallback: Annotated[
        bool, typer.Option(help="Spell what has no piece in bytes (256 pieces).")
    ] = True,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="<TAG>", help="Symbol to keep whole; repeatable.")
    ] = None,
    transition_size: TransitionSize = None,
) -> None:
    """Train a tokenizer, to be shared by several runs."""
    _check_new(out)
    _check_options(
        model,
        size=vocabulary_size,
        transition_size=transition_size,
        coverage=coverage,
        byte_fallback=byte_fallback,
    )
    if model in (Model.BYTE_LEVEL_BPE, Model.SUPERBPE):
        num_ids = _train_byte_level(
            model, files, out, size=vocabulary_size, transition_size=transition_size, tags=tag or ()
        )
        typer.echo(
            f"{out}: {num_ids} pieces; to use it, set `data.tokenizer: {{kind: {model.value}, path: {out}}}` in a "
            f"recipe"
        )
        return
    num_ids = _train_sentencepiece(
        model,
        files,
        out,
        size=vocabulary_size,
        coverage=coverage,
        byte_fallback=byte_fallback,
        tags=tag or (),
    )
    typer.echo(
        f"{out}: {num_ids} pieces; to use it, set `data.tokenizer.path: {out}` in a recipe "
        "(`data.source_tokenizer.path` where the source has its own)"
    )


def compare_tokenizers(
    tokenizers: Annotated[
        list[Path],
        typer.Argument(
            metavar="TOKENIZER...",
            help="Runs, folders of tokenizers, or sentencepiece models; the first is the base.",
        ),
    ],
    files: Annotated[
        list[Path],
        typer.Option("--input", metavar="FILE", help="Text, plain, .gz, .xz or .zst; one file a language."),
    ],
    as_json: Json = False,
) -> None:
    """Compare tokenizers on texts: tokens, tokens per word, bytes per token, and unreachable pieces.

    Fewer tokens do not mean a better model: compare chrF or bits per byte, not loss per token.
    """
    from trimtab.data import tokenizer_comparison as comparison

    opened = {str(path): comparison.open_tokenizer(path) for path in tokenizers}
    found = comparison.compare_tokenizers(opened, {str(path): _lines([path]) for path in files})
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], ensure_ascii=False, indent=2))
    else:
        typer.echo(comparison.render(found))


def _check_new(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise input_error(
            f"--out {out}: already exists",
            got="a folder with something in it" if out.is_dir() else "a file",
            allowed="a new folder",
            fix="name another folder, or remove this one",
        )


def _check_options(
    model: Model, *, size: int, transition_size: int | None, coverage: float, byte_fallback: bool
) -> None:
    """InputError for options that a model of another kind has."""
    if transition_size is not None and (model is not Model.SUPERBPE or transition_size >= size):
        raise input_error(
            f"--transition-size {transition_size}: is for superbpe, and below the vocabulary size",
            got=f"--model {model.value}, --vocabulary-size {size}",
            allowed="--model superbpe and fewer pieces than the vocabulary has",
            fix="leave it out",
        )
    if model in (Model.UNIGRAM, Model.BPE):
        return
    if coverage != COVERAGE or not byte_fallback:
        raise input_error(
            f"--model {model.value}: every byte has a piece, so there is nothing to cover",
            got="--no-byte-fallback" if not byte_fallback else f"--character-coverage {coverage}",
            allowed="these options with --model unigram or bpe",
            fix="leave it out",
        )
    if size < SMALLEST_BYTE_LEVEL:
        raise input_error(
            f"--vocabulary-size {size}: too small for the 256 bytes and one merge",
            got=str(size),
            allowed=f"at least {SMALLEST_BYTE_LEVEL}",
            fix="raise it",
        )


def _train_sentencepiece(
    model: Model,
    files: list[Path],
    out: Path,
    *,
    size: int,
    coverage: float,
    byte_fallback: bool,
    tags: Sequence[str],
) -> int:
    from trimtab.config.tokenizer import SentencePieceTokenizer
    from trimtab.data import tokenizer

    config = SentencePieceTokenizer(
        model="bpe" if model is Model.BPE else "unigram",
        vocabulary_size=size,
        character_coverage=coverage,
        byte_fallback=byte_fallback,
    )
    return tokenizer.train_tokenizer(config, lines=_lines(files), symbols=tags, out=out).num_ids


def _train_byte_level(
    model: Model,
    files: list[Path],
    out: Path,
    *,
    size: int,
    transition_size: int | None,
    tags: Sequence[str],
) -> int:
    from trimtab.config.tokenizer import ByteLevelBpeTokenizer, SuperBpeTokenizer
    from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level

    config = (
        SuperBpeTokenizer(vocabulary_size=size, transition_size=transition_size)
        if model is Model.SUPERBPE
        else ByteLevelBpeTokenizer(vocabulary_size=size)
    )
    made = make_byte_level(
        config,
        lambda: _lines(files),
        symbols=Symbols(tags=tags),
        out=out,
        key="data.tokenizer",
        progress=ConsoleProgress(),
    )
    return made.num_ids


def _lines(files: list[Path]) -> Iterator[str]:
    """Strict UTF-8 lines of all files."""
    from trimtab.data.cache import default_cache
    from trimtab.data.formats.text import text_of
    from trimtab.data.lines import open_lines

    for path in files:
        lines = open_lines(path, cache=default_cache())
        for number in range(len(lines)):
            yield text_of(lines, number)


def inspect(
    recipe: RecipeFile,
    overrides: Overrides = None,
    as_json: Json = False,
    limit: Annotated[
        int, typer.Option(min=1, help="Pairs to look at in each corpus, spread evenly.")
    ] = 200_000,
) -> None:
    """Count the examples, what would be dropped and why, and list lines that are not translations or repeat.

    Exit code 1 if every pair would be dropped, or if source and target are the same text.
    """
    from trimtab.config.load import load_recipe

    loaded = load_recipe(recipe, overrides or ())
    from trimtab.inspection import inspect_recipe, render

    report = inspect_recipe(loaded, limit=limit, progress=ConsoleProgress())
    typer.echo(json.dumps(asdict(report), ensure_ascii=False, indent=2) if as_json else render(report))
    if report.problems:
        raise typer.Exit(1)
