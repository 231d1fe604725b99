"""Cross entropies of a script, as a function or as a module that was made before."""

import re
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

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean over targets, as nothing else is written."""
        return "reduction" not in self.made.keywords and not self.made.has_rest


_FUNCTIONS = frozenset({"cross_entropy", "binary_cross_entropy_with_logits"})
_NAMED = re.compile(r"(^|_)(ce|xent|cross_?entropy)(_|$|loss|criterion|fn)", re.IGNORECASE)
"""Parameters that are called after the cross entropy."""
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
    if value is not None and value.made == "parameter":
        return _declared(value)
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


def _declared(parameter: Value) -> Value | None:
    """What a parameter that nobody fills is declared to be: by its default, or by the class of its annotation or its
    name, whose options nobody knows."""
    given = parameter.keywords.get("default") or parameter.fields.get("<annotation>")
    if given is not None and given.made == "imported" and given.last in _MODULES:
        return Value("call", given.name, has_rest=True)
    if given is not None and given.made == "call":
        return _criterion(given)
    if given is None and _NAMED.search(parameter.name):
        return Value("call", "torch.nn.CrossEntropyLoss", label=parameter.name, has_rest=True)
    return None
