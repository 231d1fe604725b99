"""The search options of `translate`: forced beginnings, number of results, blocked repeats."""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trimtab.cli.numbers import Range, number_option
from trimtab.cli.output_place import check_output
from trimtab.cli.streams import opened_input, opened_output
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.inference.translator import Translator

Prefix = Annotated[str | None, typer.Option(metavar="TEXT", help="Required beginning of every translation.")]
PrefixFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Required beginning of each translation, one per line; an empty line requires none.",
    ),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        help="Terms that translations must have: source<TAB>target, one per line; used where the text has the source.",
    ),
]
AlignmentsFile = Annotated[
    Path | None,
    typer.Option(
        "--alignments",
        metavar="FILE",
        help="Also write which words of the source and the translation belong together: 0-0 1-2 2-1, a line each.",
    ),
]
NBest = Annotated[
    int | None,
    number_option(
        "--n-best",
        Range(least=1, most=64),
        help="The best N of each line: number ||| text ||| F0= log-probability ||| score.",
        fix="ask for at most as many as the beam has",
    ),
]
StopRule = Annotated[
    Literal["exact", "enough"],
    typer.Option(
        "--stop",
        help="When beam search stops: `exact` when no open hypothesis can win, `enough` when as many have "
        "ended as the beam is wide, which is faster and hardly worse.",
    ),
]
NoRepeatNgram = Annotated[
    int | None,
    number_option(
        "--no-repeat-ngram",
        Range(least=1),
        help="Never repeat N tokens in a row within a translation.",
        fix="3 or 4 is usual; leave it out to block nothing",
    ),
]
ShortlistFile = Annotated[
    Path | None,
    typer.Option(
        "--shortlist",
        metavar="FILE",
        help="On a CPU: search only the pieces that the source may need; made by `trimtab shortlist`.",
    ),
]
EnsembleMode = Annotated[
    Literal["linear", "log_linear"],
    typer.Option(help="For several runs: average their probabilities, or the logarithms."),
]


@contextmanager
def opened_prefixes(text: str | None, path: Path | None) -> Generator[Iterable[str] | str | None, None, None]:
    """The forced prefixes: one text for all lines, or a stream of lines; InputError if both are given."""
    if path is None:
        yield text
        return
    if text is not None:
        raise input_error(
            "--prefix: already given for every line",
            got="--prefix and --prefix-file",
            allowed="one of them",
            fix="leave one out",
        )
    with opened_input(path, option="--prefix-file") as file:
        from trimtab.decode.reading import read_lines

        yield read_lines(file, name=str(path))


def refuse_together(option: str, value: object, others: Mapping[str, object]) -> None:
    """InputError where an option is given together with another one that it excludes; None is not given."""
    for other, its_value in others.items():
        if value is not None and its_value is not None:
            raise input_error(
                f"{option}: cannot be combined with {other}",
                got="both",
                allowed="one of them",
                fix="leave one out",
            )


def check_beside(given: Mapping[str, object]) -> None:
    """InputError for --glossary and --alignments together with what each of them excludes."""
    excluded = {"--glossary": ("--sample", "--prefix", "--prefix-file", "--rerank"),
                "--alignments": ("--n-best", "--rerank")}  # fmt: skip
    for option, names in excluded.items():
        refuse_together(option, given[option], {name: given[name] for name in names})


def opened_terms(path: Path | None) -> dict[str, Any]:
    """The glossary in a file, as what is asked of a translator; InputError with all lines that are wrong."""
    if path is None:
        return {}
    with opened_input(path, option="--glossary") as file:
        from trimtab.decode.glossary import read_glossary
        from trimtab.decode.reading import read_lines

        return {"glossary": read_glossary(read_lines(file, name=str(path)), name=str(path))}


def report_terms(translator: "Translator", path: Path | None) -> None:
    """Prints how many terms of the glossary are in the translations; nothing without one."""
    if path is None:
        return
    counts = translator.counts
    kept, lines = counts.terms - counts.missing_terms, counts.lines_with_terms
    text = f"glossary: {kept:,} of {counts.terms:,} terms kept, in {lines:,} lines with terms"
    typer.echo(text, err=True)


def check_outputs(
    output: Path | None, alignments: Path | None, *, inputs: Mapping[str, Path | None], models: Sequence[str]
) -> None:
    """`check_output` for --output and for --alignments, which must not be one file."""
    check_output(output, inputs=inputs, models=models)
    if alignments is None:
        return
    if output is not None and os.path.realpath(alignments) == os.path.realpath(output):
        raise input_error(
            f"--alignments {alignments}: is the same file as --output",
            got="one file for both",
            allowed="a file of its own",
            fix="name another file",
        )
    check_output(alignments, inputs=inputs, models=models, option="--alignments")


@contextmanager
def opened_alignments(path: Path | None, asked: dict[str, Any]) -> Generator[None, None, None]:
    """Puts the file of --alignments among what is asked of a translator; it appears when it is complete."""
    if path is None:
        yield
        return
    with opened_output(path, option="--alignments") as file:
        asked["alignments"] = file
        yield
