"""S161 schedule-never-steps"""

import re
from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_known_schedule
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)\nfor x, y in loader:\n"
    "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(model(x), y).backward()\n    "
    "optimizer.step()\n{step}"
)

RULE = Rule(
    code="S161",
    name="schedule-never-steps",
    severity="error",
    message="`{schedule}` is created but never stepped: the learning rate keeps its initial value",
    why="A schedule changes the rate in its `step()` alone. One that starts with a warm-up has set the rate to 0 "
    "when it "
    "was made, and there it stays: nothing is trained at all.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
            "'Learning rate scheduling should be applied after optimizer's update': `scheduler.step()` in the loop.",
        ),
        Arithmetic("A linear warm-up multiplies the rate by step / warm-up steps: by 0 at step 0."),
    ),
    fix=Fix("call `{schedule}.step()` after `optimizer.step()`"),
    bad=Example("train.py", _SCRIPT.replace("{step}", "")),
    good=Example("train.py", _SCRIPT.replace("{step}", "    scheduler.step()\n")),
    symptoms=(
        "learning rate is constant",
        "learning rate stays 0",
        "loss does not go down",
        "scheduler has no effect",
        "scheduler.step() is missing",
        "learning rate does not decay",
    ),
)
_ELSEWHERE: Final = frozenset(
    {"lightning", "pytorch_lightning", "deepspeed", "ignite", "fastai", "mmengine", "colossalai"}
)
_TARGETS: Final = r"^[ \t]*([\w., \t]+?)[ \t]*=[ \t]*(?:[\w.]+\.)?"
"""What is assigned to, up to the name of the function that is called."""
_PREPARED: Final = r"(?m)^[ \t(]*[\w., \t\n]*?\)?\s*=\s*\w+\.prepare\([^()]*\)"
"""Objects that Accelerate prepares: it steps no schedule by itself."""
_READS: Final = r"(?!\s*=[^=]|\s*:\s|\.get_last_lr|\.get_lr|\.state_dict|\.load_state_dict|\.last_epoch)"


def check(run: Description) -> Iterator[Diagnosis]:
    """A schedule that a script with a loop of its own makes, under a name that it never uses again but to log or save
    what it says."""
    flow = flow_of(run.document)
    if not flow.is_whole or run.document.imports & _ELSEWHERE:
        return
    if not any(True for loop in training_loops(flow) for _ in loop.steps()):
        return
    for event in flow.each("call"):
        made = event.value
        if not is_known_schedule(made) or not made.name.startswith(
            ("torch.optim.lr_scheduler.", "transformers.")
        ):
            continue
        outside = _name_outside(run, event)
        if not outside and not made.label and (held := _list_of(run, event)):
            if not _is_used(run, flow, made, held, is_returned=False):
                yield RULE.at(event.place, schedule=held)
                return
            continue
        if not outside and not made.label:
            key = _key_of(run, flow, event)
            if key and not _is_used_by_key(run, flow, key):
                yield RULE.at(event.place, schedule=f"[{key!r}]")
                return
            continue
        name = outside or made.label
        if _may_be_stepped_by_a_base(flow, event):
            continue
        if name and not _is_used(run, flow, made, name, is_returned=bool(outside)):
            yield RULE.at(event.place, schedule=name)
            return


def _may_be_stepped_by_a_base(flow: Flow, made: Event) -> bool:
    """Whether an object of a class holds the schedule whose base class cannot be seen, and may step it."""
    for event in flow.each("set"):
        if event.value is made.value and event.subject is not None and event.subject.made == "object":
            of = event.subject.of
            return of is not None and any(
                base.made != "class" and not base.name.startswith(("torch.nn.", "object")) for base in of.args
            )
    return False


def _name_outside(run: Description, event: Event) -> str:
    """The name that a schedule gets where the script calls the one function that makes and returns it; empty where no
    function does, or nobody can see the name."""
    block = event.path[-1] if event.path else None
    if block is None or block.kind != "function" or block.value is None or len(block.returned) != 1:
        return ""
    returned = block.returned[0]
    parts = returned.args if returned.made == "list" else (returned,)
    at = next((i for i, each in enumerate(parts) if each is event.value), None)
    if at is None:
        return ""
    found = re.findall(rf"{_TARGETS}{re.escape(block.value.name)}\(", run.document.text, re.MULTILINE)
    names = [each.strip() for each in found[0].split(",")] if len(found) == 1 else []
    return names[at] if len(names) == len(parts) else ""


def _list_of(run: Description, event: Event) -> str:
    """The list that holds a schedule: `schedules = [StepLR(each, 10) for each in optimizers]`."""
    if run.document.text.startswith("{"):
        return ""
    lines = run.document.text.splitlines()
    line = lines[event.place.line - 1] if event.place.line <= len(lines) else ""
    before = re.search(r"^\s*(?:self\.)?(\w+)\s*=\s*\[\s*[\w.]*$", line[: line.find(f"{event.name}(")])
    return before[1] if before is not None else ""


def _key_of(run: Description, flow: Flow, event: Event) -> str:
    """The key of a mapping that holds a schedule without a name: `parts["sched"] = StepLR(...)`, or the same in a
    display."""
    for each in flow.sets("[]"):
        if each.value is event.value and each.item is not None and isinstance(each.item.constant, str):
            return each.item.constant
    if run.document.text.startswith("{"):
        return ""  # the lines of a notebook are those of its cells
    lines = run.document.text.splitlines()
    line = lines[event.place.line - 1] if event.place.line <= len(lines) else ""
    before = re.search(r"""["'](\w+)["']\s*:\s*[\w.]*$""", line[: line.find(f"{event.name}(")])
    return before[1] if before is not None else ""


def _is_used_by_key(run: Description, flow: Flow, key: str) -> bool:
    """Whether anything but its making names the key, or goes over the mappings of the script."""
    use = rf"""["']{re.escape(key)}["'](?!\s*\]?\s*(?:=[^=]|:|\.get_l|\.state_dict|\.load_state|\.last_epoch))"""
    return any(
        re.search(use, text) or any(word in text for word in (".values()", ".items()", "**"))
        for text in (run.document.text, *flow.texts)
    )


def _is_used(run: Description, flow: Flow, schedule: Value, name: str, *, is_returned: bool) -> bool:
    """Whether anything but what reads it, and what hands it out of the function that makes it, has the name. Functions
    that are followed may be given the schedule, where their parameter has the same name: what they do with it is in the
    same texts."""
    word = rf"(?<!optim\.)\b{re.escape(name)}\b"  # `torch.optim.lr_scheduler` is the module
    texts = [re.sub(_PREPARED, "", text) for text in (run.document.text, *flow.texts)]
    if is_returned:
        texts = [
            re.sub(rf"^[ \t]*return\b.*{word}.*$", "", text, count=1, flags=re.MULTILINE) for text in texts
        ]
        texts = [re.sub(rf"{_TARGETS}(?=\w+\()", "", text, flags=re.MULTILINE) for text in texts]
    if not any(re.search(word + _READS, text) for text in texts):
        return False
    if any(
        re.search(word + _READS, re.sub(rf"[(,]\s*{word}(?=\s*[,)]|\s*=\s*None\b)", "", text))
        for text in texts
    ):
        return True
    own = {each.name for each in flow.holders}
    given = [
        event
        for event in flow.each("call")
        if any(each is schedule for each in (*event.value.args, *event.value.keywords.values()))
    ]
    return not given or not all(event.name in own and event.value.of is None for event in given)
