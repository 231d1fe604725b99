"""S162 incomplete-grad-scaler"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.half import HANDLED, is_off
from trimtab.checks.read.flow.loops import Loop, is_step, stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_scaler, options, root
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2).cuda()\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "scaler = torch.amp.GradScaler('cuda')\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    with torch.autocast('cuda', torch.float16):\n        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "    scaler.scale(loss).backward()\n    {step}\n    scaler.update()\n"
)

RULE = Rule(
    code="S162",
    name="incomplete-grad-scaler",
    severity="error",
    message="{fault}",
    why="A GradScaler is used in four places: `scale(loss).backward()`, `unscale_` before clipping, `step(optimizer)` "
    "and `update()`. The first multiplies every gradient by up to 65,536, the third divides by it and skips steps "
    "with infinities; leaving one out trains with gradients that are wrong by that factor, or stops.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling",
            "`scaler.step(optimizer)` unscales the gradients, `scaler.update()` updates the scale.",
            opened=False,
        ),
        Arithmetic(
            "torch 2.13: a second `scaler.step` without `update` raises 'step() has already been called since the "
            "last update()'; the first scale is 2**16 = 65,536."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{step}", "optimizer.step()")),
    good=Example("train.py", _SCRIPT.replace("{step}", "scaler.step(optimizer)")),
    symptoms=(
        "loss is NaN with mixed precision",
        "step() has already been called since the last update()",
        "No inf checks were recorded for this optimizer",
        "model learns nothing with GradScaler",
        "AssertionError: No inf checks were recorded for this optimizer",
        "scaler.update() is missing",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop with a GradScaler of torch's, on, of which one of its parts is missing in the whole script."""
    flow = flow_of(run.document)
    if not flow.is_whole or run.document.imports & HANDLED:
        return
    scalers = [event.value for event in flow.named("GradScaler") if event.value.name.startswith("torch.")]
    if not scalers or any(is_off(each) or "enabled" in each.keywords or each.has_rest for each in scalers):
        return
    for loop in training_loops(flow):
        found = _fault(flow, loop)
        if found is not None:
            place, fault, fix = found
            yield RULE.at(place, fault=fault, fix=fix)
            return


def _fault(flow: Flow, loop: Loop) -> tuple[Place, str, str] | None:
    through = [event for event in flow.named("step") if is_scaler(event.subject) and event.value.args]
    scales = any(is_scaler(event.subject) for event in flow.named("scale"))
    is_scaled = _is_scaled(loop.backward.subject)
    unscales = any(True for _ in flow.named("unscale_"))
    plain = [event for event in loop.steps() if not is_scaler(event.subject)]
    scaled = [event for event in loop.steps() if is_scaler(event.subject)]
    if is_scaled and plain and not through and not unscales:
        return (
            plain[0].place,
            "the gradients are scaled, and the optimizer steps without the scaler: they are up to 65,536 times "
            "too large",
            "step by `scaler.step(optimizer)`",
        )
    if scaled and not scales and not is_scaled:
        return (
            loop.backward.place,
            "`scaler.step` divides by the scale, and the loss was never multiplied by it: gradients are up to 65,536 "
            "times too small",
            "go backward by `scaler.scale(loss).backward()`",
        )
    if scaled and not any(is_scaler(event.subject) for event in flow.named("update")):
        return (
            scaled[0].place,
            "the scaler is never updated: its second step raises RuntimeError",
            "call `scaler.update()` after `scaler.step(optimizer)`",
        )
    twice = _twice(scaled, plain)
    if twice is not None:
        return (
            twice.place,
            "the optimizer steps twice, through the scaler and by itself",
            "leave `optimizer.step()` out",
        )
    return None


def _is_scaled(loss: Value | None) -> bool:
    return loss is not None and loss.made == "call" and loss.name == "scale" and is_scaler(loss.of)


def _twice(scaled: list[Event], plain: list[Event]) -> Event | None:
    for one in scaled:
        for other in plain:
            here = [block for block in one.path if block.kind != "with"]
            there = [block for block in other.path if block.kind != "with"]
            is_same = root(stepped(one)) is root(stepped(other)) and len(options(stepped(other))) == 1
            if here == there and is_same and is_step(other):
                return other
    return None
