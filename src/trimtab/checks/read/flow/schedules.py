"""How long a schedule of the learning rate is made for, and how often a loop steps it."""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.periods import turn_of_event
from trimtab.checks.read.flow.roles import is_known_schedule, is_schedule, options, root
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk

Pace = Literal["turn", "period", "epoch"]
_LENGTHS: Final = {
    "get_linear_schedule_with_warmup": 2,
    "get_cosine_schedule_with_warmup": 2,
    "get_polynomial_decay_schedule_with_warmup": 2,
    "get_cosine_with_hard_restarts_schedule_with_warmup": 2,
    "get_scheduler": 3,
    "CosineAnnealingLR": 1,
    "OneCycleLR": 2,
    "PolynomialLR": 1,
}
"""Schedules that end, with the position of their length."""
_NAMES: Final = ("num_training_steps", "T_max", "total_steps", "total_iters")


class Stepped(NamedTuple):
    """A schedule, the loop that steps it, and how often."""

    schedule: Value
    event: Event
    """The step."""
    loop: Loop
    """The loop over batches."""
    epochs: Block | None
    """The `for epoch in range(...)` around it."""
    pace: Pace


def length_of(schedule: Value) -> Value | None:
    """The argument that says how many steps a schedule has."""
    given = next((schedule.keywords[name] for name in _NAMES if name in schedule.keywords), None)
    at = _LENGTHS.get(schedule.last)
    if at is None or schedule.has_rest:
        return None
    return given or (schedule.args[at] if at < len(schedule.args) else None)


def stepped_schedules(flow: Flow) -> Iterator[Stepped]:
    """Each step of a schedule that is seen to be made, of all ways to see it made one, by a training loop."""
    for loop in training_loops(flow):
        at = next((i for i, block in enumerate(loop.backward.path) if block is loop.block), 0)
        around = [block for block in loop.backward.path[:at] if block.kind in ("for", "while")]
        epochs = around[-1] if around and _is_range(around[-1]) else None
        for event in flow.named("step"):
            schedule = root(event.subject)
            if schedule is None or event.value.args or not is_schedule(event.subject):
                continue
            if len(options(event.subject)) != 1 or not is_known_schedule(schedule):
                continue
            pace = _pace(loop, epochs, event)
            if pace is not None:
                yield Stepped(schedule, event, loop, epochs, pace)


def _pace(loop: Loop, epochs: Block | None, event: Event) -> Pace | None:
    if event.within(loop.block):
        inner = [block for block in event.below(loop.block) if block.kind in ("if", "else", "for", "while")]
        if not inner:
            return "turn"
        turn = turn_of_event(event, loop.block)
        return "period" if len(inner) == 1 and turn is not None and turn.holds else None
    if epochs is None or not event.within(epochs) or event.index < loop.events[-1].index:
        return None
    return None if any(block.kind != "with" for block in event.below(epochs)) else "epoch"


def _is_range(block: Block) -> bool:
    return block.value is not None and any(
        each.made == "call" and each.last in ("range", "trange") for each in walk(block.value, most=4)
    )


class Product(NamedTuple):
    """A length as a product: what multiplies and what divides."""

    factors: tuple[Value, ...]
    divisors: tuple[Value, ...]


def product_of(value: Value | None, *, depth: int = 0) -> Product | None:
    """A length as factors and divisors, also inside `math.ceil` and what is rounded; None where it is a sum, or
    nothing is known of it."""
    if value is None or depth > 12:
        return None
    if value.made == "binary" and value.name in ("*", "//", "/") and len(value.args) == 2:
        one = product_of(value.args[0], depth=depth + 1)
        other = product_of(value.args[1], depth=depth + 1)
        if one is None or other is None:
            return None
        if value.name == "*":
            return Product(one.factors + other.factors, one.divisors + other.divisors)
        return Product(one.factors + other.divisors, one.divisors + other.factors)
    if value.made == "call" and value.last in ("ceil", "floor", "int", "float", "round") and value.args:
        return product_of(value.args[0], depth=depth + 1)
    if value.made in ("either", "object", "compare") or (
        value.made == "binary" and value.constant is UNKNOWN
    ):
        return None
    return Product((value,), ())


def batches_of(product: Product, loop: Loop) -> list[Value]:
    """The factors that are the number of turns of a loop: `len(loader)`."""
    over = {id(each) for each in walk(loop.block.value, most=12)}
    for loader in walk(loop.block.value, most=12):
        if (
            loader.made == "call" and loader.last == "DataLoader"
        ):  # what it loads from has examples, not batches
            over -= {id(each) for part in loader.parts() for each in walk(part, most=12)}
    return [
        each
        for each in product.factors
        if each.made == "call" and each.name == "len" and each.args and id(each.args[0]) in over
    ]


def is_count_of(value: Value, block: Block) -> bool:
    """Whether it is the number of turns of `for epoch in range(...)`, by the same value, number or name."""
    calls = [
        each for each in walk(block.value, most=4) if each.made == "call" and each.last in ("range", "trange")
    ]
    count = calls[0].args[-1] if calls and calls[0].args else None
    if count is None:
        return False
    for one in (count, *walk(count, most=4)):
        is_same_name = one.made == value.made == "attribute" and one.name == value.name and one.of is value.of
        is_same_number = value.constant is not UNKNOWN and value.constant == one.constant
        if one is value or is_same_name or is_same_number:
            return True
    return False
