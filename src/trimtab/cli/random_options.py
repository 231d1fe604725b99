"""Options of commands that sample tokens, and the error for options that would have no effect."""

from typing import Annotated, Any

from trimtab.cli.numbers import Range, number_option
from trimtab.errors import InputError, input_error

TopK = Annotated[
    int | None,
    number_option(
        "--top-k",
        Range(least=1),
        help="Sample only from the N likeliest tokens.",
        fix="leave it out to sample from all tokens",
        show_default="none",
    ),
]
Seed = Annotated[
    int | None,
    number_option(
        "--seed",
        Range(least=0, most=2**63 - 1),
        help="Random seed; together with the number of a line or prompt it determines its samples.",
        fix="any whole number, such as 1",
        show_default="1",
    ),
]


def temperature_option(*, fix: str, help: str, usual: str, or_zero: bool = False) -> Any:
    """`--temperature`, within what can be drawn with; 0 too where it stands for the likeliest token each time."""
    taken = Range(least=0.01, most=100, whole=False, or_zero=or_zero)
    return number_option("--temperature", taken, help=help, fix=fix, show_default=usual)


def top_p_option(*, usual: str) -> Any:
    """`--top-p`; the usual value differs from command to command."""
    return number_option(
        "--top-p",
        Range(least=1e-6, most=1, whole=False),
        help="Sample only from the likeliest tokens that together reach this probability; 1 for all.",
        fix="0.9 to 0.95 is usual",
        show_default=usual,
    )


def given(**options: float | int | None) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


def idle(options: dict[str, Any], *, drawn: str, without: str, allowed: str, fix: str) -> InputError:
    """The error for options that would have no effect."""
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in options)
    return input_error(
        f"{flags}: only applies to sampled {drawn}", got=f"{flags} {without}", allowed=allowed, fix=fix
    )
