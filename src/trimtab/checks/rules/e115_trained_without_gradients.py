"""E115 trained-without-gradients"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards
from trimtab.checks.read.flow.values import Block, Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n{context}:\n"
    "    model.train()\n    for x, y in loader:\n        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
)

RULE = Rule(
    code="E115",
    name="trained-without-gradients",
    severity="error",
    message="the forward pass that is trained runs under `{context}`: there is no graph for `backward()` to follow",
    why="`train()` switches dropout and batch norm, but does not enable gradients. Under `no_grad` the loss "
    "has no `grad_fn`, and `backward()` raises RuntimeError; with `requires_grad_()` on the loss it "
    "does not even raise, and "
    "no weight ever gets a gradient.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html",
            "'In this mode, the result of every computation will have requires_grad=False, even when the inputs have "
            "requires_grad=True.'",
        ),
        Arithmetic("The gradient of a constant is 0: no step moves a weight."),
    ),
    fix=Fix("take the training out of `{context}`, or enter `torch.enable_grad()` around it"),
    bad=Example("train.py", _SCRIPT.format(context="with torch.no_grad()")),
    good=Example("train.py", _SCRIPT.format(context="if is_training")),
    symptoms=(
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "model learns nothing",
        "weights do not change",
    ),
)
_OFF: Final = frozenset({"no_grad", "inference_mode"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A backward pass of a loss that comes from a forward pass in the same stretch without gradients."""
    flow = flow_of(run.document)
    for event in flow.named("backward", "manual_backward"):
        block = next((each for each in event.path if _off(each)), None)
        if block is None or any(_is_on(each) for each in event.below(block)):
            continue
        loss = event.value.argument(0, "loss") or event.subject
        inside = {id(each.value) for each in forwards(flow.events) if _is_under(each, block)}
        if any(id(each) in inside for each in walk(loss, most=60)):
            yield RULE.at(event.place, context=_off(block))
            return


def _off(block: Block) -> str:
    """What switches gradients off in a block, for all that is known of it."""
    for each in block.contexts:
        if each.last in _OFF and each.made == "call" and not _says(each, False):
            return f"torch.{each.last}()"
        if each.last == "set_grad_enabled" and _says(each, False):
            return "torch.set_grad_enabled(False)"
    return ""


def _says(call: Value, truth: bool) -> bool:
    given = call.argument(0, "mode")
    return given is not None and given.constant is truth


def _is_on(block: Block) -> bool:
    return any(each.last in ("enable_grad", "set_grad_enabled") for each in block.contexts)


def _is_under(event: Event, block: Block) -> bool:
    return event.within(block) and not any(_is_on(each) for each in event.below(block))
