"""The training loops of a script: where gradients are made, and what else happens in the same turn."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from trimtab.checks.read.flow.roles import innermost_loop, is_optimizer, is_periodic, is_scaler, is_schedule
from trimtab.checks.read.flow.values import Block, Event, Flow, Value

CLEARS: Final = frozenset({"zero_grad", "zero_gradients", "clear_gradients"})


class Loop(NamedTuple):
    """One loop with a backward pass in it; a `training_step` that goes backward itself is one too."""

    block: Block
    events: tuple[Event, ...]
    """All that happens inside, in order."""
    backward: Event
    """The first backward pass."""

    def steps(self) -> Iterator[Event]:
        """Steps of an optimizer, of its own or through a scaler."""
        return (event for event in self.events if is_step(event))

    def schedule_steps(self) -> Iterator[Event]:
        """Steps of a schedule."""
        return (
            event
            for event in self.events
            if event.kind == "call" and event.name == "step" and is_schedule(event.subject)
        )

    def called(self, *names: str) -> Iterator[Event]:
        """Calls by the last part of their name."""
        return (event for event in self.events if event.kind == "call" and event.name in names)

    def is_within_period(self, event: Event) -> bool:
        """Whether an event happens every so many turns of the loop only."""
        return any(is_periodic(block) for block in event.below(self.block))


def is_step(event: Event) -> bool:
    """Whether an event is the step of an optimizer without a closure."""
    if event.kind != "call" or event.name != "step":
        return False
    if is_scaler(event.subject):
        return bool(event.value.args)
    return is_optimizer(event.subject) and not is_schedule(event.subject) and not event.value.args


def stepped(event: Event) -> Value | None:
    """The optimizer of a step."""
    return event.value.args[0] if is_scaler(event.subject) else event.subject


def training_loops(flow: Flow) -> list[Loop]:
    """Every loop that is the innermost around a backward pass, each once."""
    if "loops" not in flow.answers:
        flow.answers["loops"] = _found(flow)
    return flow.answers["loops"]


def _training_step(event: Event) -> Block | None:
    """The method that Lightning calls for each batch, where it goes backward itself."""
    block = event.path[0] if event.path else None
    is_one = block is not None and block.kind == "function" and block.value is not None
    return block if is_one and block.value.name == "training_step" else None  # type: ignore[union-attr]


def _found(flow: Flow) -> list[Loop]:
    loops: dict[int, Loop] = {}
    for event in flow.named("backward", "manual_backward"):
        block = innermost_loop(event) or _training_step(event)
        if block is None or id(block) in loops:
            continue
        loops[id(block)] = Loop(block, tuple(flow.inside(block)), event)
    return list(loops.values())
