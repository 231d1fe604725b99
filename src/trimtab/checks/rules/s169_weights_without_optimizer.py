"""S169 weights-without-optimizer"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import Loop, stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import OPTIMIZERS, forwards, options, root, without_gradients
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nencoder, decoder = nn.Linear(8, 4), nn.Linear(4, 8)\n"
    "optimizer = torch.optim.AdamW({given}, lr=3e-4)\nfor x in loader:\n    optimizer.zero_grad()\n"
    "    nn.functional.mse_loss(decoder(encoder(x)), x).backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="S169",
    name="weights-without-optimizer",
    severity="warning",
    message="`{module}` contributes to the loss but is in no optimizer: it keeps its random initialization",
    why="An optimizer changes what it was given and nothing else. A layer that is made beside the model gets "
    "gradients and "
    "never a step.",
    evidence=(Arithmetic("A weight that no step writes to has its first value at the end of the run."),),
    fix=Fix("give the optimizer its parameters too: `[*model.parameters(), *{module}.parameters()]`"),
    bad=Example("train.py", _SCRIPT.replace("{given}", "encoder.parameters()")),
    good=Example("train.py", _SCRIPT.replace("{given}", "[*encoder.parameters(), *decoder.parameters()]")),
    symptoms=("some layers are not trained", "loss stops falling early", "weights do not change"),
)
_WEIGHTED: Final = frozenset(
    {
        "Linear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "Embedding",
        "LSTM",
        "GRU",
        "RNN",
        "TransformerEncoder",
        "Sequential",
    }
)
_HARMLESS: Final = frozenset({"to", "cuda", "train", "__call__", "forward", "zero_grad", "print"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A layer of torch's that the script makes by itself, calls in a training loop and does nothing else with, beside
    optimizers whose parameters are all seen."""
    flow = flow_of(run.document)
    if not flow.is_whole:
        return
    for loop in training_loops(flow):
        steps = [made for step in loop.steps() for made in options(stepped(step))]
        if not steps or not all(_is_seen(each) for each in steps):
            continue
        module = _forgotten(flow, loop)
        if module is not None and module.place is not None:
            yield RULE.at(module.place, module=module.label)
            return


def _is_seen(optimizer: Value) -> bool:
    """Whether it is made here from `parameters()` of models alone."""
    given = (
        optimizer.argument(0, "params") if optimizer.made == "call" and optimizer.last in OPTIMIZERS else None
    )
    return given is not None and given.made == "call" and given.name == "parameters" and given.of is not None


def _forgotten(flow: Flow, loop: Loop) -> Value | None:
    loss = loop.backward.value.argument(0, "loss") or loop.backward.subject
    inside = {id(each) for each in walk(loss, most=80)}
    for event in forwards(list(loop.events)):
        module = root(event.value.of)
        if module is None or id(event.value) not in inside or without_gradients(event):
            continue
        is_layer = module.made == "call" and module.name.startswith("torch.nn.") and module.last in _WEIGHTED
        if is_layer and module.label and _is_alone(flow, module) and not _is_within(module):
            return module
    return None


def _is_alone(flow: Flow, module: Value) -> bool:
    """Whether nothing but calls happens to it: nobody is given it, freezes it or asks for its parameters."""
    for event in flow.events:
        if event.kind == "set" and (event.value is module or root(event.subject) is module):
            return False
        if event.kind != "call":
            continue
        if _takes(event.value, module):
            return False
        if root(event.subject) is module and event.name not in _HARMLESS:
            return False
    return True


def _takes(call: Value, module: Value) -> bool:
    """Whether the module itself is an argument, alone or in lists and mappings."""
    waiting = [*call.args, *call.keywords.values()]
    while waiting:
        given = waiting.pop()
        if given is module:
            return True
        if given.made in ("list", "dict"):
            waiting.extend(given.parts())
    return False


def _is_within(module: Value) -> bool:
    return module.last == "Sequential" and not module.args
