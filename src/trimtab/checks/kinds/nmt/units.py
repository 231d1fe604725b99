"""Lengths as Marian writes them: `100Ku` updates, `10Gt` target labels, `20e` epochs; without a letter updates."""

import re
from typing import Any, Literal

from trimtab.checks.record import record

Unit = Literal["updates", "tokens", "epochs"]
_UNITS: dict[str, Unit] = {"": "updates", "u": "updates", "t": "tokens", "e": "epochs"}
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_AMOUNT = re.compile(r"\s*([0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?)([kKMGT]?)([ute]?)\s*")


@record
class Amount:
    """A number of a unit."""

    count: int
    unit: Unit


def read_amount(value: Any) -> Amount | None:
    """The amount that a value says; None for what Marian would not read."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    found = _AMOUNT.fullmatch(str(value))
    if found is None:
        return None
    try:
        number = float(found[1].replace(",", "")) * _FACTORS[found[2]]
    except ValueError:
        return None
    return Amount(int(number), _UNITS[found[3]]) if number.is_integer() else None


def read_amounts(value: Any) -> list[Amount]:
    """Several of them behind commas, as `after` takes them: `20e,100Ku` ends with the first that is reached."""
    if not isinstance(value, str):
        amount = read_amount(value)
        return [] if amount is None else [amount]
    # A number may contain a comma, too: `10,000u`.
    parts = re.split(r"(?<=[ute]),", value)
    found = [read_amount(part) for part in parts]
    return [amount for amount in found if amount is not None]
