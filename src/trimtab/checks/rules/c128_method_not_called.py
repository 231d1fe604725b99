"""C128 method-not-called"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import OPTIMIZERS, is_model, is_optimizer, is_scaler, is_schedule
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "for x, y in loader:\n    optimizer.zero_grad{call}\n"
    "    torch.nn.functional.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="C128",
    name="method-not-called",
    severity="error",
    message="`{method}` is referenced but never called",
    why="Without parentheses Python only looks the method up: nothing happens, and nothing is reported.",
    evidence=(Arithmetic("`model.eval` is a bound method; as a statement its value is thrown away."),),
    fix=Fix("write `{method}()`"),
    bad=Example("train.py", _SCRIPT.replace("{call}", "")),
    good=Example("train.py", _SCRIPT.replace("{call}", "()")),
    symptoms=("model learns nothing", "gradients add up", "'method' object is not iterable"),
)
_TAKERS = (*sorted(OPTIMIZERS), "clip_grad_norm_", "clip_grad_value_")

_CONTEXTS = ("no_grad", "inference_mode", "enable_grad")
"""Classes of contexts: `with torch.no_grad:` raises."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A line that only names a method of a model, an optimizer, a schedule or a scaler; and `model.parameters` handed
    over where its values are wanted."""
    flow = flow_of(run.document)
    reported: set[object] = set()
    for event in flow.each("drop"):
        if event.value.made in ("attribute", "bound") and _is_meant(event):
            method = f"{_name(event.subject)}.{event.name}"
            if event.place not in reported:
                reported.add(event.place)
                yield RULE.at(event.place, method=method)
    if says(run.document, *(f"{name}:" for name in _CONTEXTS)):
        yield from _contexts(flow)
    for event in flow.named(*_TAKERS):
        given = event.value.argument(0, "params") or event.value.argument(0, "parameters")
        is_named = given is not None and given.made in ("attribute", "bound") and given.name == "parameters"
        if is_named and given is not None and is_model(given.of):
            yield RULE.at(event.place, method=f"{_name(given.of)}.parameters")


def _contexts(flow: Flow) -> Iterator[Diagnosis]:
    """`with torch.no_grad:`, which raises."""
    for block in {id(block): block for event in flow.events for block in event.path}.values():
        for each in block.contexts:
            if each.made == "imported" and each.last in _CONTEXTS and block.place is not None:
                yield RULE.at(block.place, method=each.name)


def _is_meant(event: Event) -> bool:
    of = event.subject
    return (
        is_model(of)
        or is_optimizer(of)
        or is_schedule(of)
        or is_scaler(of)
        or event.name in ("barrier", "backward")
    )


def _name(value: Value | None) -> str:
    return "model" if value is None else value.label or value.name or "model"
