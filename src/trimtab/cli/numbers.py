"""Number options with a range, with errors in the form of all other wrong input."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

from trimtab.cli.shell import tell
from trimtab.errors import InputError, input_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The numbers that an option takes."""

    least: float | int
    most: float | int = math.inf
    whole: bool = True
    """Only whole numbers."""
    or_zero: bool = False
    """0 is taken too, though it is less than the least of the others."""

    def __contains__(self, value: float | int) -> bool:
        return math.isfinite(value) and (self.least <= value <= self.most or (self.or_zero and value == 0))

    def __str__(self) -> str:
        kind = ("0, or " if self.or_zero else "") + ("whole numbers" if self.whole else "numbers")
        return f"{kind} from {self.least}" + (" on" if math.isinf(self.most) else f" to {self.most}")


def number_option(flag: str, range: Range, *, help: str, fix: str, show_default: str | bool = True) -> Any:
    """A typer option for `flag`; anything outside the range ends the command with exit code 2, said with `fix`."""
    parser = parser_for(flag, range, fix=fix)
    metavar = "N" if range.whole else "X"
    return typer.Option(flag, parser=parser, metavar=metavar, help=help, show_default=show_default)


def parser_for(flag: str, range: Range, *, fix: str) -> Callable[[str], float | int]:
    """What turns the text of an option into its number; a default passes through it too."""

    def parse(text: str | float | int) -> float | int:
        try:
            value = int(text) if range.whole else float(text)
        except ValueError:
            value = None
        if value is not None and value in range:
            return value
        what = "not a number" if value is None else "out of range"
        what = "not a whole number" if value is None and range.whole else what
        # Arguments are read before the command runs, so that its guard is not there yet.
        tell(input_error(f"{flag}: {what}", got=str(text), allowed=str(range), fix=fix))
        raise typer.Exit(InputError.exit_code)

    return parse
