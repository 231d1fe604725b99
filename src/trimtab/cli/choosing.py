"""The options of `generate` that say how each next token is chosen."""

from typing import TYPE_CHECKING, Annotated

from trimtab.cli.numbers import Range, number_option
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.decode.sampling import Sampling

Temperature = Annotated[
    float | None,
    number_option(
        "--temperature",
        Range(least=0.01, most=100, whole=False, or_zero=True),
        help="0, or 0.01 to 100: below 1 the likely becomes likelier; 0 takes the likeliest token each time.",
        fix="0.8 is usual, 1.0 the model's own, 0 the likeliest token each time",
        show_default="0.8",
    ),
]
TopP = Annotated[
    float | None,
    number_option(
        "--top-p",
        Range(least=1e-6, most=1, whole=False),
        help="Draw from the likeliest tokens that together reach this probability; 1 from all.",
        fix="0.9 to 0.95 is usual",
        show_default="0.95",
    ),
]
MinP = Annotated[
    float | None,
    number_option(
        "--min-p",
        Range(least=0, most=1, whole=False),
        help="Of these, draw from those that have this share of the likeliest one's probability.",
        fix="0.05 to 0.1 is usual",
        show_default="none",
    ),
]
TopK = Annotated[
    int | None,
    number_option(
        "--top-k",
        Range(least=1),
        help="Before that, keep only the likeliest so many tokens.",
        fix="leave it out to draw from all tokens",
        show_default="none",
    ),
]
Seed = Annotated[
    int | None,
    number_option(
        "--seed",
        Range(least=0, most=2**63 - 1),
        help="With the prompt's number it fixes what is drawn for it.",
        fix="any whole number, such as 1",
        show_default="1",
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
    given = {"top_p": top_p, "min_p": min_p, "top_k": top_k, "seed": seed}
    given = {name: value for name, value in given.items() if value is not None}
    if temperature != 0:
        from dataclasses import replace

        from trimtab.decode.writing import USUAL

        return replace(USUAL, **given, **({} if temperature is None else {"temperature": temperature}))  # type: ignore[arg-type]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise input_error(
            f"{flags}: counts only for texts that are drawn",
            got=f"{flags} with --temperature 0, which takes the likeliest token each time",
            allowed="a temperature above 0 with it, or neither",
            fix="leave one of them out",
        )
    return None
