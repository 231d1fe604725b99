"""The options of `translate` that say how translations are drawn instead of searched for."""

from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.numbers import Range, number_option
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.decode.sampling import Sampling

Sample = Annotated[
    bool, typer.Option("--sample", help="Draw translations at random instead of searching for the likeliest.")
]
Temperature = Annotated[
    float | None,
    number_option(
        "--temperature",
        Range(least=0.01, most=100, whole=False),
        help="Of --sample: below 1 the likely becomes likelier.",
        fix="1.0 is the model's own; for the likeliest each time take --beam 1 without --sample",
        show_default="1.0",
    ),
]
TopK = Annotated[
    int | None,
    number_option(
        "--top-k",
        Range(least=1),
        help="Of --sample: only the likeliest so many tokens.",
        fix="leave it out to draw from all tokens",
    ),
]
TopP = Annotated[
    float | None,
    number_option(
        "--top-p",
        Range(least=1e-6, most=1, whole=False),
        help="Of --sample: only the likeliest tokens that together reach this probability.",
        fix="0.9 is usual",
    ),
]
Epsilon = Annotated[
    float | None,
    number_option(
        "--epsilon",
        Range(least=0, most=0.999, whole=False),
        help="Of --sample: only tokens of at least this probability.",
        fix="0.02 is usual",
    ),
]
Seed = Annotated[
    int | None,
    number_option(
        "--seed",
        Range(least=0, most=2**63 - 1),
        help="Of --sample: with a line's number it fixes what is drawn for it.",
        fix="any whole number, such as 1",
        show_default="1",
    ),
]


def sampling_of(
    wanted: bool,
    *,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    epsilon: float | None,
    seed: int | None,
) -> "Sampling | None":
    """The settings of a drawing, None where none is wanted; InputError for an option that would count for nothing."""
    given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "epsilon": epsilon, "seed": seed}
    given = {name: value for name, value in given.items() if value is not None}
    if wanted:
        from trimtab.decode.sampling import Sampling

        return Sampling(**given)  # type: ignore[arg-type]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise input_error(
            f"{flags}: counts only for translations that are drawn",
            got=f"{flags} without --sample",
            allowed="--sample with it, or neither",
            fix="add --sample, or leave it out",
        )
    return None
