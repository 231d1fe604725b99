"""Lightning's modules and trainers in a script: who steps, and what the trainer is given."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from trimtab.checks.document import Document
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Event, Flow, Value

PACKAGES: Final = frozenset({"lightning", "pytorch_lightning"})
_TRAINERS: Final = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")


def trainers(document: Document) -> Iterator[Event]:
    """Every `Trainer` of Lightning."""
    if document.imports & PACKAGES:
        for event in flow_of(document).named("Trainer"):
            if event.value.made == "call" and event.value.name in _TRAINERS:
                yield event


def modules(document: Document) -> Iterator[Value]:
    """Classes of the script that inherit from LightningModule itself."""
    if document.imports & PACKAGES:
        for value in flow_of(document).classes.values():
            if any(base.name.endswith("LightningModule") for base in value.args):
                yield value


def fitted(flow: Flow, trainer: Value) -> Value | None:
    """The class of the script whose object a trainer fits; None if there is not one, or nobody can see it."""
    found: list[Value] = []
    for event in flow.named("fit"):
        model = root(event.value.argument(0, "model"))
        if (
            root(event.subject) is trainer
            and model is not None
            and model.made == "object"
            and model.of is not None
        ):
            found.append(model.of)
    return found[0] if found and all(each is found[0] for each in found) else None


def steps_itself(flow: Flow, module: Value) -> bool:
    """Whether a module switches Lightning's own optimization off."""
    written = module.fields.get("automatic_optimization")
    if written is not None and written.constant is False:
        return True
    return any(
        event.value.constant is False and event.subject is not None and event.subject.of is module
        for event in flow.sets("automatic_optimization")
    )


def method(module: Value, name: str) -> Any:
    """The syntax tree of a method that a class of the script writes itself; None if it has none."""
    body: list[Any] = module.node.body if module.node is not None else []
    return next((part for part in body if getattr(part, "name", "") == name), None)


def method_around(event: Event, name: str) -> bool:
    """Whether an event happens in a method of this name."""
    return any(
        block.kind == "function" and block.value is not None and block.value.name == name
        for block in event.path
    )


class Returned(NamedTuple):
    """A schedule that `configure_optimizers` gives back, and what is said beside it."""

    schedule: Value
    optimizer: Value | None
    options: dict[str, Value]
    """`interval`, `frequency`, `monitor`, as far as they are written."""


def returned_schedules(flow: Flow) -> list[Returned]:
    """Every schedule that a `configure_optimizers` gives back, in a pair of lists, in mappings, or in several of them;
    none of a mapping that is not known whole."""
    found: dict[int, Returned] = {}
    for event in flow.each("call"):
        for block in event.path:
            if block.kind == "function" and block.value is not None and block.value.name == _CONFIGURES:
                for returned in block.returned:
                    for each in _returned(returned):
                        found.setdefault(id(each.schedule), each)
    return list(found.values())


_CONFIGURES: Final = "configure_optimizers"


def _returned(value: Value) -> Iterator[Returned]:
    if value.made == "dict" and not value.args and "lr_scheduler" in value.keywords:
        outer = value.keywords
        given = outer["lr_scheduler"]
        beside = {"monitor": outer["monitor"]} if "monitor" in outer else {}
        yield from _configured(given, outer.get("optimizer"), beside)
    elif value.made == "list" and len(value.args) == 2 and all(each.made == "list" for each in value.args):
        optimizers, schedules = value.args
        for at, each in enumerate(schedules.args):
            yield from _configured(each, optimizers.args[at] if at < len(optimizers.args) else None, {})
    elif value.made == "list":
        for each in value.args:
            if each.made == "dict":
                yield from _returned(each)


def _configured(given: Value, optimizer: Value | None, beside: dict[str, Value]) -> Iterator[Returned]:
    if given.made == "dict" and not given.args and "scheduler" in given.keywords:
        rest = {name: each for name, each in given.keywords.items() if name != "scheduler"}
        yield Returned(given.keywords["scheduler"], optimizer, {**beside, **rest})
    elif given.made == "call":
        yield Returned(given, optimizer, beside)
