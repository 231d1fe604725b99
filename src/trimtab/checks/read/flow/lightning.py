"""Lightning's modules and trainers in a script: who steps, and what the trainer is given."""

from collections.abc import Iterator
from typing import Any, Final

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
