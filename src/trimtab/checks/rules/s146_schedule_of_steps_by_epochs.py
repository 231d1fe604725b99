"""S146 schedule-of-steps-by-epochs"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.lightning import method, method_around, modules
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.read.records import last_name
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import lightning as L\nimport torch\nfrom transformers import get_linear_schedule_with_warmup\n"
    "class Model(L.LightningModule):\n    def configure_optimizers(self):\n"
    "        optimizer = torch.optim.AdamW(self.parameters(), lr=5e-5)\n"
    "        steps = self.trainer.estimated_stepping_batches\n"
    "        schedule = get_linear_schedule_with_warmup(optimizer, 500, steps)\n"
    "        return [optimizer], [{schedule}]\n"
)

RULE = Rule(
    code="S146",
    name="schedule-of-steps-by-epochs",
    severity="warning",
    message="`{schedule}` is counted in steps, and Lightning steps it once an epoch",
    why='Lightning steps a schedule at the end of each epoch unless its configuration says `"interval": "step"`. A '
    "warm-up of 500 steps then lasts 500 epochs: a run of 3 epochs never leaves the first hundredth of its learning "
    "rate.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.0/src/lightning/pytorch/utilities/types.py",
            '`LRSchedulerConfig`: `interval: str = "epoch"`; for OneCycleLR alone Lightning warns.',
        ),
        Arithmetic("After 3 epochs the schedule has made 3 of 500 warm-up steps: 0.6% of the learning rate."),
    ),
    fix=Fix('return `{{"scheduler": {schedule}, "interval": "step"}}` in place of the schedule itself'),
    bad=Example("train.py", _SCRIPT.format(schedule="schedule")),
    good=Example("train.py", _SCRIPT.format(schedule='{"scheduler": schedule, "interval": "step"}')),
    symptoms=(
        "loss falls slowly",
        "model learns nothing",
        "learning rate does not change in Lightning",
        "learning rate stays near zero",
    ),
)
_LENGTHS = {
    "get_linear_schedule_with_warmup": (2, "num_training_steps"),
    "get_cosine_schedule_with_warmup": (2, "num_training_steps"),
    "get_polynomial_decay_schedule_with_warmup": (2, "num_training_steps"),
    "get_constant_schedule_with_warmup": (1, "num_warmup_steps"),
    "OneCycleLR": (2, "total_steps"),
    "LambdaLR": (1, "lr_lambda"),
}
_STEPS = r"(?i)steps|stepping|iterations|len\("
MANY = 1_000
"""More epochs than anybody trains."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A LightningModule that returns a schedule of steps as it is, and steps nothing itself."""
    document = run.document
    classes = list(modules(document))
    if not classes or says(document, "lr_scheduler_step", "automatic_optimization"):
        return
    if says(document, "lr_schedulers()") and _steps_itself(document):
        return
    nodes = [node for each in classes if (node := method(each, "configure_optimizers")) is not None]
    for event in flow_of(document).named(*_LENGTHS):
        if event.value.of is not None or not method_around(event, "configure_optimizers"):
            continue
        node = next((each for each in nodes if each.lineno <= event.place.line <= each.end_lineno), None)
        if document.text.startswith("{"):  # a notebook: its lines are those of the file
            node = nodes[0] if len(nodes) == 1 else None
        if node is not None and _counts_steps(event, node) and _is_returned_bare(event, node):
            yield RULE.at(event.place, schedule=event.name)


def _steps_itself(document: Document) -> bool:
    """Whether the script steps what Lightning's `lr_schedulers()` gives, and does not only read its rate."""
    return any(
        each.name == "lr_schedulers"
        for event in flow_of(document).named("step")
        for each in walk(event.subject, most=12)
    )


def _counts_steps(event: Event, node: Any) -> bool:
    """Whether the length is said to be one of steps: by a name, a `len()`, or a number that no epochs have."""
    index, name = _LENGTHS[event.name]
    length = event.value.argument(index, name)
    if event.name == "LambdaLR":
        text = "" if length is None or length.node is None else ast.unparse(length.node)
        return "epoch" not in text and bool(re.search(r"(warmup|max|total|train\w*)_steps", text))
    if length is None:
        return "steps_per_epoch" in event.value.keywords
    if isinstance(length.constant, int | float):
        return length.constant >= MANY
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and last_name(call.func) == event.name:
            given = next((each.value for each in call.keywords if each.arg == name), None)
            given = given or (call.args[index] if len(call.args) > index else None)
            text = ast.unparse(given) if given is not None else ""
            return "epoch" not in text.replace("steps_per_epoch", "") and bool(re.search(_STEPS, text))
    return False


def _is_returned_bare(event: Event, node: Any) -> bool:
    """Whether the function returns the schedule in lists and mappings that say no interval."""
    for each in ast.walk(node):
        is_interval = isinstance(each, ast.Constant) and each.value == "interval"
        if is_interval or (isinstance(each, ast.keyword) and each.arg == "interval"):
            return False
    label = _label(event.value)
    return any(
        isinstance(each, ast.Return) and each.value is not None and label in _bare(each.value)
        for each in ast.walk(node)
    )


def _bare(node: ast.expr) -> set[str]:
    """Names in the lists and mappings of an expression, and schedules that are made in them."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Dict(values=items):
            return {name for item in items for name in _bare(item)}
        case ast.Call(func=function):
            return {last_name(function)}
        case _:
            return set()


def _label(value: Value) -> str:
    return value.label or value.last
