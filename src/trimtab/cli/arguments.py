"""Arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from trimtab.cli.completion import recipe_keys
from trimtab.cli.numbers import Range, number_option
from trimtab.errors import input_error

RecipeFile = Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe, as `trimtab init` writes one.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        autocompletion=recipe_keys,
        help="Recipe keys to override for this run: step.optimizer.learning_rate=3e-4 data.train.0.weight=2",
    ),
]
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The folder of a run (its best checkpoint), RUN@last, RUN@500, or a checkpoint."
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The folder of a run (its best checkpoint), RUN@last, RUN@500, a checkpoint, or an export's folder.",
    ),
]
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help="A run (its best checkpoint), RUN@last, RUN@500, or a checkpoint; several form an ensemble.",
    ),
]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Written when it is complete; by default stdout.")
]
DEFAULT_BEAM = 4
Beam = Annotated[
    int | None,
    number_option(
        "--beam",
        Range(least=1, most=64),
        help="Hypotheses kept for each line; 1 is greedy.",
        fix="4 is usual; 1 is greedy and the fastest",
        show_default=str(DEFAULT_BEAM),
    ),
]
LengthPenalty = Annotated[
    float,
    number_option(
        "--length-penalty",
        Range(least=0, most=10, whole=False),
        help="Above 1 favors long translations, below 1 short ones.",
        fix="1.0 compares averages; 0 compares sums and prefers short translations",
    ),
]
Tag = Annotated[
    list[str] | None,
    typer.Option(metavar="TAG", help="Symbol to put before every line, as in training: <2de>; repeatable."),
]
Direction = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Direction of a modular model: en-de; or de-en/en-pt, the encoder of one and the decoder of another.",
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="LANGUAGE", help="Language to read with a modular model; with --to."),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANGUAGE", help="Language to write with a modular model; with --from."),
]
Adapter = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="An adapter to use with the model, unmerged: in PEFT's format (LoRA, DoRA), or the run that trained it.",
    ),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1; by default a GPU where there is one.")]
Threads = Annotated[
    int | None,
    number_option(
        "--threads",
        Range(least=1, most=1024),
        help="Threads of the CPU to compute with; by default one for each core.",
        fix="the number of cores is usual",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
BatchTokens = Annotated[
    int | None,
    number_option(
        "--batch-tokens",
        Range(least=1),
        help="Tokens of a batch, padding included, times the beam; less needs less memory.",
        fix="leave it out for what suits the device",
        show_default="what suits the device",
    ),
]
MaxLength = Annotated[
    int | None,
    number_option(
        "--max-length",
        Range(least=2),
        help="Longest line, or text with its prompt, in tokens; a longer line is translated in pieces.",
        fix="leave it out for the longest of the training",
        show_default="that of the training",
    ),
]


def take_threads(threads: int | None) -> None:
    """Computes on so many CPU threads from here on; None changes nothing."""
    if threads is not None:
        from trimtab.device import set_threads

        set_threads(threads)


Sized = TypeVar("Sized")


def sized(model: Sized, *, batch_tokens: int | None, max_length: int | None) -> Sized:
    """A translator or a language model as --batch-tokens and --max-length say; as it is where neither is given."""
    if batch_tokens is None and max_length is None:
        return model
    sizable: Any = model
    return sizable.sized(batch_tokens=batch_tokens, max_length=max_length)


def with_direction(
    run: str, *, direction: str | None = None, source: str | None = None, target: str | None = None
) -> str:
    """The name of a run with a direction of its modular model behind it, as `--direction`, or `--from` and `--to` name
    it. Raises InputError for both at once, for one language alone, and for a run that is named with a direction."""
    if direction is None and source is None and target is None:
        return run
    if direction is not None and (source is not None or target is not None):
        raise input_error(
            "--direction: names the languages already",
            got=f"--direction {direction} with {'--from' if source is not None else '--to'}",
            allowed="--direction, or --from and --to",
            fix="leave one of the two out",
        )
    if direction is None and (source is None or target is None):
        raise input_error(
            f"--{'from' if source is None else 'to'}: is missing beside --{'to' if source is None else 'from'}",
            got="one language",
            allowed="both, or --direction",
            fix="write both: `--from en --to de`",
        )
    if "#" in run and not Path(run).exists():
        raise input_error(
            f"{run}: names a direction already",
            got=f"{run}, and an option",
            allowed="one of the two",
            fix="leave the option out",
        )
    return f"{run}#{direction if direction is not None else f'{source}:{target}'}"
