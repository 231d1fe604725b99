"""L125 targets-are-logits"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.ends import last_of
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_model, without_gradients
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.nn.functional as F\nteacher = torch.nn.Linear(8, 4)\nstudent = torch.nn.Linear(8, 4)\n"
    "optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4)\nfor x in loader:\n    with torch.no_grad():\n"
    "        target = teacher(x){softmax}\n    optimizer.zero_grad()\n"
    "    F.cross_entropy(student(x), target).backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="L125",
    name="targets-are-logits",
    severity="error",
    message="{fault}",
    why="A cross entropy takes soft targets as they are: it multiplies the log-probability of each class by the "
    "target and adds up. Logits are below 0 for some classes and add up to anything, and class numbers made of "
    "probabilities are all 0.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",
            "The target 'contains class probabilities' where it has the shape of the input; 'each value should be "
            "between [0, 1]', and PyTorch does not check it.",
        ),
        Arithmetic(
            "Targets (2, -2) and probabilities (p, 1 - p): -2 ln p + 2 ln(1 - p) falls without bound."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{softmax}", "")),
    good=Example("train.py", _SCRIPT.replace("{softmax}", ".softmax(-1)")),
    symptoms=(
        "loss of distillation is negative",
        "distillation diverges",
        "cross entropy with soft labels is negative",
        "soft targets are not probabilities",
    ),
)
_ROUNDS: Final = frozenset({"long", "int"})


def check(run: Description) -> Iterator[Diagnosis]:
    """What made the targets of a cross entropy: a linear layer, a model's logits, or a softmax whose probabilities are
    rounded."""
    if not says(run.document, "cross_entropy", "CrossEntropyLoss"):
        return
    flow = flow_of(run.document)
    for loss in cross_entropies(flow):
        target, logits = plain(loss.targets), plain(loss.logits)
        if loss.name != "cross_entropy" or target is None or target is logits:
            continue
        if _is_rounded(loss.targets):
            yield RULE.at(
                loss.event.place,
                fault="the targets are probabilities converted to integers: all of them are 0",
                fix="pass the probabilities, or `argmax` of them",
            )
            return
        if _is_logits(target) and not without_gradients(loss.event):
            yield RULE.at(
                loss.event.place,
                severity=None if last_of(target) == "linear" or target.name == "logits" else "warning",
                fault="the targets of the cross entropy are logits; it expects probabilities or class indices",
                fix="apply `softmax` to the targets",
            )
            return


def _is_rounded(value: Value | None) -> bool:
    """Whether probabilities of a softmax go through `long()` or `int()`."""
    for _ in range(6):
        if value is None or value.made != "call" or value.of is None:
            return False
        if value.name in _ROUNDS or (
            value.name in ("to", "type") and any(each.name == "torch.long" for each in value.args)
        ):
            return last_of(value.of) == "softmax"
        value = value.of
    return False


def _is_logits(target: Value) -> bool:
    """Whether targets are seen to be what a linear layer or a model gave, with nothing behind it."""
    if target.made == "attribute" and target.name == "logits" and target.of is not None:
        return target.of.made == "call" and is_model(target.of.of)
    if target.made != "call":
        return False
    if last_of(target) == "linear":
        return target.name == "__call__"
    named = (target.of.label or target.of.name).lower() if target.of is not None else ""
    return target.name in ("__call__", "forward", named) and "teacher" in named and last_of(target) == ""
