"""The options of `generate` that say how each next token is chosen."""

from typing import TYPE_CHECKING, Annotated

from trimtab.cli.numbers import Range, number_option
from trimtab.cli.random_options import given, idle, temperature_option, top_p_option

if TYPE_CHECKING:
    from trimtab.decode.sampling import Sampling

Temperature = Annotated[
    float | None,
    temperature_option(
        help="0, or 0.01 to 100: below 1 favors likely tokens; 0 is greedy.",
        fix="0.8 is usual, 1.0 leaves the distribution as it is, 0 is greedy",
        usual="0.8",
        or_zero=True,
    ),
]
TopP = Annotated[float | None, top_p_option(usual="0.95")]
MinP = Annotated[
    float | None,
    number_option(
        "--min-p",
        Range(least=0, most=1, whole=False),
        help="Sample only tokens with at least this share of the likeliest token's probability.",
        fix="0.05 to 0.1 is usual",
        show_default="none",
    ),
]


def choice_of(
    *,
    temperature: float | None,
    top_p: float | None,
    min_p: float | None,
    top_k: int | None,
    seed: int | None,
) -> "Sampling | None":
    """How tokens are drawn, None for the likeliest each time; InputError for an option that would count for nothing."""
    options = given(top_p=top_p, min_p=min_p, top_k=top_k, seed=seed)
    if temperature != 0:
        from dataclasses import replace

        from trimtab.decode.generation_config import USUAL

        return replace(USUAL, **options, **given(temperature=temperature))
    if options:
        raise idle(
            options,
            drawn="texts",
            without="with --temperature 0, which takes the likeliest token each time",
            allowed="a temperature above 0 with it, or neither",
            fix="leave one of them out",
        )
    return None
