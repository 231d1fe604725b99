"""S165 optimizer-never-steps"""

import re
from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import CLEARS, stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import OPTIMIZERS, is_known_schedule, options, root
from trimtab.checks.read.flow.values import Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for x, y in loader:\n    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(model(x), "
    "y).backward()\n{step}"
)

RULE = Rule(
    code="S165",
    name="optimizer-never-steps",
    severity="error",
    message="the loop clears gradients and goes backward, and `{optimizer}.step()` is never called: no weight ever "
    "changes",
    why="`backward()` only computes gradients. What changes the weights is the step of the optimizer.",
    evidence=(
        Arithmetic("Without an assignment to the weights the loss of a batch is the same in every epoch."),
    ),
    fix=Fix("call `{optimizer}.step()` after `backward()`"),
    bad=Example("train.py", _SCRIPT.replace("{step}", "")),
    good=Example("train.py", _SCRIPT.replace("{step}", "    optimizer.step()\n")),
    symptoms=(
        "loss does not change",
        "weights do not change",
        "model learns nothing",
        "weights are the same before and after training",
    ),
)
_STEPPING: Final = (
    "step",
    "Engine",
    "fused_backward",
    "optimizer_hook",
    "register_post_accumulate_grad_hook",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """An optimizer that is seen to be made and to clear in a training loop, and no `step` in the whole script; and
    one of several, where the loop steps the others by name."""
    flow = flow_of(run.document)
    if not flow.is_whole or not training_loops(flow) or says(run.document, *_STEPPING[1:]):
        return
    if says(run.document, ".step"):
        yield from _one_of_several(run, flow)
        return
    for loop in training_loops(flow):
        for event in loop.called(*CLEARS):
            made = options(event.subject)
            is_made = (
                len(made) == 1 and made[0].made == "call" and made[0].last in OPTIMIZERS and made[0].label
            )
            if is_made and not _is_handed_on(flow, made[0]):
                yield RULE.at(loop.backward.place, optimizer=made[0].label)
                return


def _one_of_several(run: Description, flow: Flow) -> Iterator[Diagnosis]:
    """An optimizer of torch's that is cleared in a loop which steps another one, and that nothing steps, holds in a
    list, or gives to a function that may."""
    for loop in training_loops(flow):
        stepping = [root(stepped(event)) for event in loop.steps()]
        if not stepping or any(each is None or each.made != "call" for each in stepping):
            continue
        for event in loop.called(*CLEARS):
            made = event.subject
            if made is None or made.made != "call" or made.last not in OPTIMIZERS or not made.label:
                continue
            if not made.name.startswith("torch.optim.") or any(each is made for each in stepping):
                continue
            uses = re.findall(
                rf"(?<!def )\b{re.escape(made.label)}\b(?!\s*=[^=])(.{{0,12}})", run.document.text
            )
            if all(_KEPT.match(use) for use in uses) and not _is_handed_on(flow, made, "prepare"):
                yield RULE.at(made.place or event.place, optimizer=made.label)
                return


_KEPT: Final = re.compile(r"\.(zero_grad|param_groups|state_dict|load_state_d)|\s*[,)]")
"""What follows the name where the optimizer is neither stepped nor kept elsewhere."""


def _is_handed_on(flow: Flow, optimizer: Value, *allowed: str) -> bool:
    """Whether something that may step is given the optimizer: `strategy.optimizer_step(optimizer)`."""
    return any(
        any(each is optimizer for each in (*event.value.args, *event.value.keywords.values()))
        for event in flow.each("call")
        if event.name not in allowed and not is_known_schedule(event.value)
    )
