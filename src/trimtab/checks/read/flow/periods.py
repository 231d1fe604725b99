"""Conditions that hold in one turn of several: `(i + 1) % 8 == 0`, and whether a value is true in that turn or in the
others."""

from typing import Final, NamedTuple

from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.flow.roles import is_counted
from trimtab.checks.read.flow.values import Block, Event, Value

_DEEPEST: Final = 6


class Turn(NamedTuple):
    """A condition on the number of the turn."""

    counted: str
    """What the number of the turn is compared by, the same text for the same condition."""
    period: Value
    """How many turns there are in a period."""
    holds: bool
    """True where the condition holds in the one turn, False where it holds in all others."""

    def is_longer_than(self, turns: int) -> bool:
        """Whether the period is longer, as far as can be seen; an unknown one may be."""
        size = self.period.constant
        return size is UNKNOWN or (isinstance(size, int | float) and size > turns)


def turn_of(value: Value | None, *, depth: int = 0) -> Turn | None:
    """The condition that a value is; of `a or last` and `a and b` the part that counts turns. None where there is
    none, or several."""
    if value is None or depth > _DEEPEST:
        return None
    if value.made == "binary" and value.name == "not":
        inner = turn_of(value.args[0], depth=depth + 1)
        return inner._replace(holds=not inner.holds) if inner is not None else None
    if value.made == "binary" and value.name in ("and", "or"):
        found = [turn for each in value.args if (turn := turn_of(each, depth=depth + 1)) is not None]
        return found[0] if len(found) == 1 else None
    if is_counted(value):
        return Turn(f"count={_written(value.args[1])}", value.args[1], holds=True)
    if value.made == "compare" and value.name in ("Eq", "NotEq") and len(value.args) == 2:
        remainder, other = value.args
        if remainder.made != "binary" or remainder.name != "%":
            return None
        return Turn(f"{_written(remainder)}={_written(other)}", remainder.args[1], value.name == "Eq")
    if value.made == "binary" and value.name == "%":  # true in all turns but one
        return Turn(f"{_written(value)}=0", value.args[1], holds=False)
    return None


def turn_of_block(block: Block) -> Turn | None:
    """The condition of a branch; of an `else` its opposite."""
    if block.kind not in ("if", "else"):
        return None
    found = turn_of(block.value)
    return found._replace(holds=not found.holds) if found is not None and block.kind == "else" else found


def turn_of_event(event: Event, around: Block) -> Turn | None:
    """The condition under which something happens in a loop; None where there is none, or more than one."""
    found = [turn for block in event.below(around) if (turn := turn_of_block(block)) is not None]
    return found[0] if len(found) == 1 else None


def _written(value: Value, *, depth: int = 0) -> str:
    """The same text for the same number, written the same way."""
    if value.constant is not UNKNOWN:
        return repr(value.constant)
    if value.made == "binary" and depth < _DEEPEST:
        return f"({value.name.join(_written(each, depth=depth + 1) for each in value.args)})"
    return f"{value.label or value.name}@{id(value)}"
