"""Cross entropies of a script, as a function or as a module that was made before."""

from collections.abc import Iterator
from typing import NamedTuple

from trimtab.checks.read.flow.values import Event, Flow, Value


class CrossEntropy(NamedTuple):
    """One call of a loss over classes."""

    event: Event
    logits: Value
    targets: Value
    made: Value
    """What has its options: the call itself, or that of the constructor."""
    name: str
    """`cross_entropy`, `binary_cross_entropy_with_logits`."""

    @property
    def ignore_index(self) -> Value | None:
        """The label that is left out, where it is written."""
        return self.made.keywords.get("ignore_index")


_FUNCTIONS = frozenset({"cross_entropy", "binary_cross_entropy_with_logits"})
_MODULES = {"CrossEntropyLoss": "cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy_with_logits"}


def cross_entropies(flow: Flow) -> list[CrossEntropy]:
    """Every call of torch's cross entropy."""
    if "losses" not in flow.answers:
        flow.answers["losses"] = list(_found(flow))
    return flow.answers["losses"]


def _found(flow: Flow) -> Iterator[CrossEntropy]:
    for event in flow.events:
        if event.kind != "call":
            continue
        call, made, name = event.value, event.value, ""
        if call.last in _FUNCTIONS and call.of is None and "functional" in call.name:
            name = call.last
        elif event.name == "__call__" and (criterion := _criterion(call.of)) is not None:
            made, name = criterion, _MODULES[criterion.last]
        logits, targets = call.argument(0, "input"), call.argument(1, "target")
        if name and logits is not None and targets is not None and not call.has_rest:
            yield CrossEntropy(event, logits, targets, made, name)


def _criterion(value: Value | None) -> Value | None:
    while (
        value is not None and value.made == "call" and value.name in ("to", "cuda") and value.of is not None
    ):
        value = value.of
    is_loss = (
        value is not None
        and value.made == "call"
        and value.last in _MODULES
        and value.name.startswith("torch.")
    )
    return value if is_loss else None
