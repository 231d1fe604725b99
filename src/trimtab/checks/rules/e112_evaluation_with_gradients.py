"""E112 evaluation-with-gradients"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, innermost_loop, root, without_gradients
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x in loader:\n    optimizer.zero_grad()\n"
    "    model(x).sum().backward()\n    optimizer.step()\n{mark}def evaluate():\n    model.eval()\n"
    "    for x in valid:\n        count(model(x))\nevaluate()\n"
)

RULE = Rule(
    code="E112",
    name="evaluation-with-gradients",
    severity="note",
    message="the evaluation runs without `torch.no_grad()`: activations are kept for a backward pass that never comes",
    why="`eval()` switches dropout and batch norm over, and not the recording of gradients. Every forward "
    "pass keeps its activations until its result is gone: slower, and with less memory for a larger "
    "batch.",
    evidence=(
        Maintainer(
            "https://github.com/aws-samples/amazon-codeguru-python-detectors/pull/74",
            "A detector for evaluation with gradient calculation left on.",
            opened=False,
        ),
        Arithmetic("Kept are the inputs of every layer; without gradients only those of the layer at work."),
    ),
    fix=Fix(
        "put the evaluation under `with torch.inference_mode():`, or mark the function",
        safety="same training",
    ),
    bad=Example("train.py", _SCRIPT.format(mark="")),
    good=Example("train.py", _SCRIPT.format(mark="@torch.no_grad()\n")),
    symptoms=(
        "out of memory in evaluation",
        "evaluation is slow",
        "out of memory in the validation loop",
        "torch.no_grad is missing in evaluation",
        "memory grows during evaluation",
    ),
)


_WHOLE = ("inference", "infer")
"""Methods that evaluate all there is in one call."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A script that trains: a model is switched over, and called in a loop without a backward pass, gradients on."""
    flow = flow_of(run.document)
    if not flow.is_whole or not (any(True for _ in flow.named("backward")) or _only_evaluates(run, flow)):
        return
    if any(True for _ in flow.named("set_grad_enabled", "requires_grad_")) or any(
        not _is_weight(event.subject) for event in flow.sets("requires_grad")
    ):
        return
    calls = [*forwards(flow.events), *flow.named(*_WHOLE)]
    for off in flow.named("eval"):
        if off.subject is None or off.value.args:
            continue
        for call in calls:
            if (
                call.index > off.index
                and _caller(call) is root(off.subject)
                and _is_evaluation(flow, off, call)
            ):
                yield RULE.at(call.place)
                return


def _only_evaluates(run: Description, flow: Flow) -> bool:
    """Whether a file is a program of its own that loads weights and looks at losses or predictions of them."""
    text = run.document.text
    is_program = "__main__" in text and any(True for _ in flow.named("load_state_dict"))
    return is_program and not any(
        word in text for word in ("grad(", "no_grad", "inference_mode", ".backward(")
    )


def _is_weight(value: Value | None) -> bool:
    """Whether it comes from the parameters of a model, which are frozen, and is no input that is searched for."""
    return any(each.last in ("parameters", "named_parameters") for each in walk(value, most=12))


def _is_evaluation(flow: Flow, off: Event, call: Event) -> bool:
    """Whether a call belongs to the evaluation that a switch begins: in a loop behind it, in the same function, with
    neither a backward pass nor the other mode in between."""
    loop = innermost_loop(call)
    if call.name in _WHOLE:
        return call.path == off.path and not without_gradients(call)
    if _is_of_function(flow, off, call):
        return True
    if loop is None or off.within(loop) or call.path[: len(off.path)] != off.path or without_gradients(call):
        return False
    between = flow.events[off.index : call.index]
    if any(event.kind == "call" and event.name in ("train", "backward", "grad") for event in between):
        return False
    return not any(event.name in ("backward", "grad", "step") for event in flow.inside(loop))


def _is_of_function(flow: Flow, off: Event, call: Event) -> bool:
    """Whether both are in one function that does nothing but evaluate: a graph network sees all its data in one
    call, without a loop."""
    function = next((block for block in reversed(off.path) if block.kind == "function"), None)
    if function is None or not call.within(function) or without_gradients(call):
        return False
    return not any(
        event.kind == "call" and event.name in ("train", "backward", "grad", "step")
        for event in flow.inside(function)
    )


def _caller(call: Event) -> Value | None:
    """The model that is called; of `model.module.inference(x)` the model."""
    return root(call.value.of)
