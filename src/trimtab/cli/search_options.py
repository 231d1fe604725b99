"""The search options of `translate`: forced beginnings, number of results, blocked repeats."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from trimtab.cli.numbers import Range, number_option
from trimtab.cli.streams import opened_input
from trimtab.errors import input_error

Prefix = Annotated[str | None, typer.Option(metavar="TEXT", help="Required beginning of every translation.")]
PrefixFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Required beginning of each translation, one per line; an empty line requires none.",
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
