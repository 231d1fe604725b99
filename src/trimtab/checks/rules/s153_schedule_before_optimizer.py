"""S153 schedule-before-optimizer"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import is_step
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop, is_schedule
from trimtab.checks.read.flow.values import Block, Event, Flow
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup)\nfor x, y in loader:\n"
    "    torch.nn.functional.cross_entropy(model(x), y).backward()\n{steps}    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S153",
    name="schedule-before-optimizer",
    severity="warning",
    message="the schedule steps before the optimizer: the first value of the schedule is never used",
    why="Since PyTorch 1.1 `scheduler.step()` belongs after `optimizer.step()`. Before it, the schedule is "
    "ahead by one: "
    "the first rate is skipped, every drop comes a step or an epoch early, a warm-up begins above its first value, and "
    "PyTorch warns once. Many examples still have the order of older versions.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/optim.html",
            "'If you use the learning rate scheduler (calling scheduler.step()) before the optimizer's update (calling "
            "optimizer.step()), this will skip the first value of the learning rate schedule.'",
        ),
        Arithmetic(
            "StepLR(step_size=20) that steps at the start of an epoch: 19 epochs at the first rate, not 20."
        ),
    ),
    fix=Fix("call `scheduler.step()` behind `optimizer.step()`, at the end of the step or of the epoch"),
    bad=Example("train.py", _SCRIPT.format(steps="    scheduler.step()\n    optimizer.step()\n")),
    good=Example("train.py", _SCRIPT.format(steps="    optimizer.step()\n    scheduler.step()\n")),
    symptoms=(
        "Detected call of lr_scheduler.step() before optimizer.step()",
        "learning rate drops too early",
        "lr_scheduler.step() is called before optimizer.step()",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Goes round the loop directly around each step of a schedule: one whose turn begins with it, before the first
    optimizer steps, and that steps it once."""
    flow = flow_of(run.document)
    for event in flow.named("step"):
        loop = innermost_loop(event)
        if loop is not None and _is_schedule_step(event) and _is_first(flow, event, loop):
            yield RULE.at(event.place)
            return


def _is_schedule_step(event: Event) -> bool:
    """A step without arguments: the diffusion schedules and those of timm are given where they are."""
    call = event.value
    return not (call.args or call.keywords or call.has_rest) and is_schedule(event.subject)


def _is_first(flow: Flow, event: Event, loop: Block) -> bool:
    inside = [each for each in flow.inside(loop) if each.name == "step"]
    steps = [each for each in inside if is_step(each)]
    branches = [block for block in event.below(loop) if block.kind in ("if", "else", "except")]
    if not steps or any(step.index < event.index for step in steps):
        return False
    if not all(steps[0].within(block) for block in branches):
        return False
    return sum(_is_schedule_step(each) for each in inside) == 1
