"""P120 forward-bypasses-ddp"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, options, without_gradients
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
    "model = DDP(torch.nn.Linear(8, 2).cuda())\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for x, y in loader:\n    optimizer.zero_grad()\n"
    "    torch.nn.functional.cross_entropy({model}(x), y).backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="P120",
    name="forward-bypasses-ddp",
    severity="error",
    message="the training forward pass calls `{model}.module` and bypasses DistributedDataParallel: gradients are not "
    "averaged over the processes",
    why="DistributedDataParallel prepares the averaging in its own `forward`. Called past it each process follows its "
    "own gradients, and the copies of the model diverge silently.",
    evidence=(
        Arithmetic(
            "Two processes with torch 2.13 and gloo, inputs 1 and 2: through `model.module(x)` the gradients of "
            "a linear "
            "layer are 1 and 2, through `model(x)` 1.5 in both."
        ),
        Maintainer(
            "https://github.com/bytetriper/RAE/issues/40",
            "'the stage1 trainer uses model_woddp.decode for the forward pass, and this potentially blocks DDP from "
            "allreduce the grads'; confirmed and fixed.",
        ),
    ),
    fix=Fix("call `{model}(...)`; what another method computes belongs in `forward`"),
    bad=Example("train.py", _SCRIPT.replace("{model}", "model.module")),
    good=Example("train.py", _SCRIPT.replace("{model}", "model")),
    symptoms=(
        "several GPUs train no better than one",
        "weights differ between ranks",
        "gradients are not synchronized",
    ),
)
_WRAPPERS: Final = ("DistributedDataParallel", "DDP")
_NO_FORWARD: Final = frozenset({"parameters", "state_dict", "named_parameters", "train", "eval"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A loss that goes backward and comes from `.module` of a wrapped model, which nothing in the loop calls."""
    flow = flow_of(run.document)
    for loop in training_loops(flow):
        if any(_is_wrapped(event.value.of) for event in forwards(list(loop.events))):
            continue
        calls = {id(event.value): event for event in loop.events if _is_past(event)}
        loss = loop.backward.value.argument(0, "loss") or loop.backward.subject
        for each in walk(loss, most=80) if calls else ():
            event = calls.get(id(each))
            if event is not None and not without_gradients(event):
                yield RULE.at(event.place, model=_wrapper(event).label or "model")  # type: ignore[union-attr]
                return


def _is_wrapped(value: Value | None) -> bool:
    return any(
        each.made == "call" and each.last in _WRAPPERS and each.name.startswith("torch.")
        for each in options(value)
    )


def _is_past(event: Event) -> bool:
    return event.kind == "call" and event.name not in _NO_FORWARD and _wrapper(event) is not None


def _wrapper(event: Event) -> Value | None:
    """The wrapper whose `module` is called, itself or one of its methods."""
    of = event.subject
    if of is not None and event.name == "module" and _is_wrapped(of) and len(options(of)) == 1:
        return of
    if of is not None and of.made == "attribute" and of.name == "module" and of.of is not None:
        return of.of if _is_wrapped(of.of) and len(options(of.of)) == 1 else None
    return None
