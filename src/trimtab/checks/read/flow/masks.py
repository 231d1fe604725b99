"""Where a script sets labels to a value by which a loss leaves them out."""

from collections.abc import Iterator
from typing import NamedTuple

from trimtab.checks.read.flow.values import Flow, Value, walk


class Masking(NamedTuple):
    """Some labels get one value."""

    labels: Value
    """What is changed, or copied with a change."""
    condition: Value | None
    """Which of them."""
    filled: Value


def maskings(flow: Flow, *, with_choices: bool = True) -> Iterator[Masking]:
    """`labels[ids == pad] = -100`, `masked_fill(mask, -100)`, `torch.where(mask, ids, -100)`, and a list in which one
    of two is a number: `[-100 if t == pad else t for t in ids]`, which takes a look at every value."""
    for event in flow.sets("[]"):
        if (
            event.subject is not None
            and event.item is not None
            and event.item.made in ("compare", "binary", "call")
        ):
            yield Masking(event.subject, event.item, event.value)
    for event in flow.named("masked_fill", "masked_fill_"):
        condition, filled = event.value.argument(0, "mask"), event.value.argument(1, "value")
        if event.subject is not None and filled is not None:
            yield Masking(event.subject, condition, filled)
    for event in flow.named("where"):
        condition, one, other = (event.value.argument(at, name) for at, name in enumerate(_OF_WHERE))
        if condition is not None and one is not None and other is not None and event.value.of is None:
            yield from _of_two(condition, one, other)
    for each in _chosen(flow) if with_choices else ():
        yield from _of_two(each.fields["<test>"], *each.args)


_OF_WHERE = ("condition", "input", "other")


def _of_two(condition: Value, one: Value, other: Value) -> Iterator[Masking]:
    """What is masked where one of two is a number, and the other is not."""
    numbers = _number(one), _number(other)
    if (numbers[0] is None) != (numbers[1] is None):
        filled = numbers[0] or numbers[1]
        assert filled is not None
        yield Masking(other if numbers[1] is None else one, condition, filled)


def _number(value: Value) -> Value | None:
    """A number that is written, also in `torch.tensor(-100)`."""
    if value.made == "call" and value.last == "tensor" and value.args:
        value = value.args[0]
    return value if type(value.constant) is int else None


def _chosen(flow: Flow) -> Iterator[Value]:
    """Values of `a if test else b` in what is set, returned or handed on."""
    seen: set[int] = set()
    for event in flow.events:
        values = (event.value, *(each for block in event.path for each in block.returned))
        for value in values:
            if id(value) in seen:
                continue
            seen.add(id(value))
            for each in walk(value, most=40):
                if (
                    each.made == "either"
                    and len(each.args) == 2
                    and "<test>" in each.fields
                    and id(each) not in seen
                ):
                    seen.add(id(each))
                    yield each
