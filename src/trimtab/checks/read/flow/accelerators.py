"""Accelerate's `Accelerator` in a script, and DeepSpeed's engine."""

from trimtab.checks.document import Document
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Flow, Value


def accelerators(document: Document) -> list[Value]:
    """Every call that makes one, with arguments that can all be seen."""
    if "accelerate" not in document.imports:
        return []
    return [
        event.value
        for event in flow_of(document).named("Accelerator")
        if event.value.name == "accelerate.Accelerator" and not event.value.has_rest
    ]


def is_accelerator(value: Value | None) -> bool:
    """Whether a value is one, or at least called so."""
    return any(
        (each.made == "call" and each.last == "Accelerator") or "accelerator" in (each.label or each.name)
        for each in options(value)
    )


def takes_loss(value: Value | None) -> bool:
    """Whether its `backward` is given the loss: an Accelerator's, or that of Lightning's Fabric."""
    return is_accelerator(value) or any(
        (each.made == "call" and each.last == "Fabric") or "fabric" in (each.label or each.name)
        for each in options(value)
    )


def engine_accumulation(flow: Flow) -> Value | None:
    """The `gradient_accumulation_steps` of the one configuration that a script writes out for DeepSpeed's engine."""
    made = [event.value for event in flow.named("initialize") if event.value.name == "deepspeed.initialize"]
    if len(made) != 1 or made[0].has_rest:
        return None
    given = made[0].keywords.get("config") or made[0].keywords.get("config_params")
    return (
        given.keywords.get("gradient_accumulation_steps")
        if given is not None and given.made == "dict"
        else None
    )
