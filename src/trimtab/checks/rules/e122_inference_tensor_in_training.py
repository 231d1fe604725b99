"""E122 inference-tensor-in-training"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, without_gradients
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nteacher = torch.nn.Linear(8, 8).eval()\nmodel = torch.nn.Linear(8, 2)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x in loader:\n"
    "    with torch.{mode}():\n        features = teacher(x)\n    loss = model(features).square().mean()\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="E122",
    name="inference-tensor-in-training",
    severity="error",
    message="`{name}` is computed under `torch.inference_mode()` and goes into a forward pass that is trained: torch "
    "raises RuntimeError",
    why="Tensors of `inference_mode` carry no version counter, and autograd cannot save them for a backward pass. "
    "Under `no_grad` they are ordinary tensors without a gradient.",
    evidence=(
        Arithmetic(
            "torch 2.13, a linear layer over such a tensor: 'Inference tensors cannot be saved for backward. Please do "
            "not use Tensors created in inference mode in computation tracked by autograd.'"
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode",
            "'tensors created in inference mode will not be able to be used in computations tracked by autograd after "
            "exiting inference mode.'",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/pull/2987",
            "GRPOTrainer computed the old log-probabilities under `inference_mode`; mended by `no_grad`.",
        ),
    ),
    fix=Fix("compute it under `torch.no_grad()`, or pass `{name}.clone()`"),
    bad=Example("train.py", _SCRIPT.replace("{mode}", "inference_mode")),
    good=Example("train.py", _SCRIPT.replace("{mode}", "no_grad")),
    symptoms=("Inference tensors cannot be saved for backward",),
)
_SAVING: Final = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "cross_entropy"})
"""Losses that keep what they compare."""
_KEPT: Final = frozenset(
    {"detach", "float", "to", "half", "bfloat16", "view", "reshape", "squeeze", "flatten"}
)
"""Methods whose result is an inference tensor too, or may be one."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A tensor that a model gives under `inference_mode`, and that a forward pass or a loss of a training loop is given
    with gradients."""
    if not says(run.document, "inference_mode"):
        return
    flow = flow_of(run.document)
    made = {id(event.value): event for event in _calls(flow) if _is_inference(event)}
    for loop in training_loops(flow) if made else ():
        takes = [*forwards(list(loop.events)), *loop.called(*_SAVING)]
        for event in takes:
            if without_gradients(event) or event.index > loop.backward.index:
                continue
            for given in (*event.value.args, *event.value.keywords.values()):
                source = made.get(id(_source(given)))
                if source is not None and source.index < event.index:
                    yield RULE.at(event.place, name=given.label or source.value.label or "it")
                    return


def _calls(flow: Flow) -> Iterator[Event]:
    """Calls of models, and of objects of which nothing is known but that they are called."""
    yield from forwards(flow.events)
    for event in flow.each("call"):
        of = event.value.of
        if event.name == "__call__" or (of is not None and of.made == "unknown" and event.name == of.name):
            yield event


def _is_inference(event: Event) -> bool:
    return any(
        each.last == "inference_mode" and not each.args and not each.keywords
        for block in event.path
        for each in block.contexts
    )


def _source(value: Value | None) -> Value | None:
    """What a tensor is a view or an attribute of: `model(x).logits`."""
    for _ in range(8):
        is_part = value is not None and (
            value.made in ("attribute", "item") or (value.made == "call" and value.name in _KEPT)
        )
        if value is None or not is_part or value.of is None:
            return value
        value = value.of
    return value
