"""S159 schedule-of-another-optimizer"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.loops import stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_known_schedule, is_optimizer, options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n{early}"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n{late}for x, y in loader:\n"
    "    loss = torch.nn.functional.cross_entropy(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n"
    "    optimizer.step()\n    schedule.step()\n"
)
_SCHEDULE = "schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=500)\n"

RULE = Rule(
    code="S159",
    name="schedule-of-another-optimizer",
    severity="error",
    message="{fault}",
    why="A schedule keeps the optimizer that it was made with, and the initial learning rate of each of its groups. It "
    "does not change another optimizer, and it overwrites a learning rate that is set later: the run trains at a "
    "learning rate that the script does not show.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/optim/lr_scheduler.py",
            "`LambdaLR.get_lr` multiplies `base_lrs`, which are read from `initial_lr` when the schedule is made.",
        ),
        Arithmetic("With lr=0.1 and 500 steps of warm-up the first step is one of 0.1, and all others too."),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(early=_SCHEDULE, late="")),
    good=Example("train.py", _SCRIPT.format(early="", late=_SCHEDULE)),
    symptoms=(
        "learning rate is a flat line in the log",
        "schedule does nothing",
        "learning rate does not change",
        "learning rate stays constant in the log",
        "scheduler has no effect",
        "learning rate that was set is ignored",
    ),
)
_FROM_THE_FIRST = ("LambdaLR", "OneCycleLR", "CyclicLR")
"""Schedules that compute each rate from the first one; others go on from the rate of the moment."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A schedule that steps in a loop in which only other optimizers step, all of them seen; and a rate that is set
    behind a schedule which computes from the first one."""
    flow = flow_of(run.document)
    if not flow.is_whole:
        return
    loops = training_loops(flow)
    steps = [each for loop in loops for event in loop.steps() for each in options(stepped(event))]
    for loop in loops:
        for event in loop.schedule_steps():
            schedule = root(event.subject)
            if schedule is None or len(options(event.subject)) != 1 or not is_known_schedule(schedule):
                continue
            known = options(root(schedule.argument(0, "optimizer")))
            if len(known) != 1 or not _is_made(known[0]):
                continue
            if _is_wrapped(flow, known[0]):
                continue
            if steps and all(_is_made(each) and each is not known[0] for each in steps):
                yield RULE.at(
                    schedule.place or event.place,
                    fault="the schedule is made for an optimizer that never steps: it was replaced after this line",
                    fix="make the schedule behind the optimizer that the loop steps",
                )
                return
            set_at = _set_later(flow, schedule, known[0], loop.block.place)
            if set_at is not None:
                yield RULE.at(
                    set_at,
                    severity="warning",
                    fault="the learning rate that is set here is overwritten: the schedule keeps that of its making",
                    fix="give the rate to the optimizer before the schedule is made",
                )
                return


def _is_wrapped(flow: Flow, optimizer: Value) -> bool:
    """Whether something takes the optimizer to step it: `deepspeed.initialize(optimizer=...)`, a Trainer."""
    return any(
        not is_known_schedule(event.value)
        and not event.name.endswith(("prepare", "append", "load_checkpoint"))
        for event in flow.each("call")
        if event.value.of is None
        and event.value.made == "call"
        and any(each is optimizer for each in (*event.value.args, *event.value.keywords.values()))
        and not any(event.name == each.name for each in flow.holders)
    )


def _is_made(value: Value) -> bool:
    return value.made == "call" and value.of is None and "." in value.name and is_optimizer(value)


def _set_later(flow: Flow, schedule: Value, optimizer: Value, loop: Place | None) -> Place | None:
    """Where `group["lr"]` of the optimizer is set once, between the schedule's making and the loop."""
    is_first = schedule.last in _FROM_THE_FIRST or schedule.last.startswith("get_")
    if not is_first or loop is None:
        return None
    for event in flow.sets("[]"):
        if event.item is None or event.item.constant != "lr" or event.index < schedule.index:
            continue
        if event.place.path == loop.path and event.place.line >= loop.line:
            continue
        if any(block.kind in ("if", "else", "except") for block in event.path):
            continue  # a rate for a run that is resumed
        if _is_group_of(event, optimizer):
            return event.place
    return None


def _is_group_of(event: Event, optimizer: Value) -> bool:
    found = list(walk(event.subject, most=8))
    return any(each.name == "param_groups" and each.of is optimizer for each in found)
