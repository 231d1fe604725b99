"""K115 resumed-without-schedule"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_known_schedule, is_optimizer, is_schedule
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom net import Net\nnet = Net()\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=90)\nstart = 0\nif resume:\n"
    "    state = torch.load(resume, weights_only=True)\n    net.load_state_dict(state['net'])\n"
    "    optimizer.load_state_dict(state['optimizer'])\n{schedule}    start = state['epoch'] + 1\n"
    "for epoch in range(start, 90):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(net(x), y).backward()\n        optimizer.step()\n    schedule.step()\n"
)

RULE = Rule(
    code="K115",
    name="resumed-without-schedule",
    severity="warning",
    message="a resumed run restores the state of its optimizer, but `{schedule}` restarts at step 0",
    why="A schedule counts its own steps. Without its state, the learning rate follows the schedule from the start "
    "after a resume: the warm-up runs again, and the decay ends too late or never.",
    evidence=(
        Maintainer(
            "https://github.com/torch-points3d/torch-points3d/pull/630",
            "'when resuming a training run, the optimizer learning rate would reset to the original learning rate "
            "rather than the current learning rate'.",
        ),
        Arithmetic("A cosine over 90 epochs, resumed at epoch 60, ends at the learning rate of epoch 30."),
    ),
    fix=Fix("save `{schedule}.state_dict()` in the checkpoint, and load it after the optimizer's"),
    bad=Example("train.py", _SCRIPT.format(schedule="")),
    good=Example("train.py", _SCRIPT.format(schedule="    schedule.load_state_dict(state['schedule'])\n")),
    symptoms=(
        "learning rate starts again after resume",
        "loss jumps after resume",
        "lr scheduler restarts from the beginning",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A schedule of torch or transformers that steps and is never given a state, in a script that gives one to the
    optimizer and goes on at the epoch or step of the checkpoint."""
    flow = flow_of(run.document)
    if not flow.is_whole or not says(run.document, "load_state_dict") or says(run.document, "last_epoch"):
        return
    loads = list(flow.named("load_state_dict"))
    resumed = [event for event in loads if is_optimizer(event.subject) and not is_schedule(event.subject)]
    if not resumed or any(not _is_of(event.subject) for event in loads):
        return
    starts = [value for value in _starts(flow) if value is not None]
    if not starts:
        return
    for event in flow.named("step"):
        schedule = event.subject
        if schedule is None or not is_known_schedule(schedule) or schedule.last == "ReduceLROnPlateau":
            continue
        if event.value.args or event.value.keywords or any(each.subject is schedule for each in loads):
            continue
        # A schedule that is made for what is left of the run needs no state.
        parts = [part for each in schedule.parts()[1:] for part in walk(each, most=40)]
        if any(part is start for part in parts for start in starts):
            continue
        yield RULE.at(schedule.place or event.place, schedule=schedule.label or "schedule")
        return


def _is_of(subject: Value | None) -> bool:
    """Whether it is known what gets a state: a schedule behind another name would be missed otherwise."""
    return subject is not None and not (
        subject.made in ("unknown", "element", "parameter")
        and not is_optimizer(subject)
        and is_schedule(subject)
    )


def _starts(flow: Flow) -> Iterator[Value | None]:
    """What loops begin at, where it comes from a checkpoint: `state['epoch'] + 1`."""
    seen = set[int]()
    for event in flow.events:
        for block in event.path:
            if block.kind != "for" or id(block) in seen or block.value is None:
                continue
            seen.add(id(block))
            for each in walk(block.value, most=12):
                if each.name in ("range", "trange") and len(each.args) > 1:
                    found = list(walk(each.args[0], most=12))
                    yield next((part for part in found if _is_saved(part)), None)


def _is_saved(value: Value) -> bool:
    key = value.args[0].constant if value.made == "item" and value.args else None
    return isinstance(key, str) and any(word in key for word in ("epoch", "step", "iter"))
