"""The sampling options of `translate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.numbers import Range, number_option
from trimtab.cli.random_options import given, idle, temperature_option, top_p_option

if TYPE_CHECKING:
    from trimtab.decode.sampling import Sampling

Sample = Annotated[
    bool, typer.Option("--sample", help="Sample translations instead of searching for the likeliest.")
]
Temperature = Annotated[
    float | None,
    temperature_option(
        help="Sampling temperature; below 1 favors likely tokens.",
        fix="1.0 leaves the distribution as it is; for greedy decoding use --beam 1 without --sample",
        usual="1.0",
    ),
]
TopP = Annotated[float | None, top_p_option(usual="none")]
Epsilon = Annotated[
    float | None,
    number_option(
        "--epsilon",
        Range(least=0, most=0.999, whole=False),
        help="Sample only tokens of at least this probability.",
        fix="0.02 is usual",
        show_default="none",
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
    """The settings of a drawing, None if none is wanted; InputError for an option that would count for nothing."""
    options = given(temperature=temperature, top_k=top_k, top_p=top_p, epsilon=epsilon, seed=seed)
    if wanted:
        from trimtab.decode.sampling import Sampling

        return Sampling(**options)
    if options:
        raise idle(
            options,
            drawn="translations",
            without="without --sample",
            allowed="--sample with it, or neither",
            fix="add --sample, or leave it out",
        )
    return None
