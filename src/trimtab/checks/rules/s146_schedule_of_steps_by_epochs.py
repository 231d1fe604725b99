"""S146 schedule-of-steps-by-epochs"""

import ast
import re
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.lightning import modules, returned_schedules
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
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
        "learning rate stays near zero in Lightning",
        "warm-up is counted in epochs",
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
_STEPS = r"steps|stepping|iterations|batches"
_DEEPEST = 6
MANY = 1_000
"""More epochs than anybody trains."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A LightningModule that returns a schedule of steps without an interval, and steps nothing itself."""
    document = run.document
    if not any(True for _ in modules(document)) or says(
        document, "lr_scheduler_step", "automatic_optimization"
    ):
        return
    if says(document, "lr_schedulers()") and _steps_itself(document):
        return
    for each in returned_schedules(flow_of(document)):
        made = each.schedule
        if made.made != "call" or made.of is not None or made.place is None:
            continue
        if made.last in _LENGTHS and "interval" not in each.options and _counts_steps(made):
            yield RULE.at(made.place, schedule=made.last)


def _steps_itself(document: Document) -> bool:
    """Whether the script steps what Lightning's `lr_schedulers()` gives, and does not only read its rate."""
    return any(
        each.name == "lr_schedulers"
        for event in flow_of(document).named("step")
        for each in walk(event.subject, most=12)
    )


def _counts_steps(schedule: Value) -> bool:
    """Whether the length is said to be one of steps: by a name, a `len()`, or a number that no epochs have."""
    index, name = _LENGTHS[schedule.last]
    length = schedule.argument(index, name)
    if schedule.last == "LambdaLR":
        text = "" if length is None or length.node is None else ast.unparse(length.node)
        return "epoch" not in text and bool(re.search(r"(warmup|max|total|train\w*)_steps", text))
    if length is None:
        return "steps_per_epoch" in schedule.keywords
    return _is_of_steps(length)


def _is_of_steps(length: Value, *, depth: int = 0) -> bool:
    if isinstance(length.constant, int | float):
        return length.constant >= MANY
    if length.made == "call" and length.last == "len":
        return True
    name = (length.label or length.name).lower()
    if "epoch" not in name.replace("steps_per_epoch", "") and re.search(_STEPS, name):
        return True
    if length.made == "call" and length.last in ("int", "ceil", "round", "float") and length.args:
        return depth < _DEEPEST and _is_of_steps(length.args[0], depth=depth + 1)
    if length.made != "binary" or length.name not in ("*", "/", "//") or depth >= _DEEPEST:
        return False
    one, other = (_is_of_steps(each, depth=depth + 1) for each in length.args)
    return one or other if length.name == "*" else one and not other
