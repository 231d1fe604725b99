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
        help="Direction of a modular model, trained or composed: en-de; or de-en/en-pt, the encoder of one and the "
        "decoder of another.",
    ),
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


def with_direction(run: str, direction: str | None) -> str:
    """The name of a run with a direction of its modular model behind it: `RUN#en-de`. Raises InputError for a run that
    is named with a direction already."""
    if direction is None:
        return run
    if "#" in run and not Path(run).exists():
        raise input_error(
            f"{run}: names a direction already",
            got=f"{run}, with --direction {direction}",
            allowed="one of the two",
            fix="leave --direction out",
        )
    return f"{run}#{direction}"
