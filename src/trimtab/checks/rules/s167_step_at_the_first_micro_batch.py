"""S167 step-at-the-first-micro-batch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Block, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for i, (x, y) in enumerate(loader):\n    loss = torch.nn.functional.cross_entropy(model(x), y) / 8\n"
    "    loss.backward()\n    if {number} % 8 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S167",
    name="step-at-the-first-micro-batch",
    severity="warning",
    message="the batch index starts at 0, so the optimizer steps at the first micro-batch, with 1 of {size} parts of "
    "a gradient, and the last ones of an epoch wait for the next",
    why="`i % n == 0` holds for i = 0. The first step sees one micro-batch, divided by n; each later one is shifted, "
    "and up to n - 1 micro-batches at the end are never stepped, or are added to the first of the next epoch.",
    evidence=(
        Arithmetic(
            "Of turns 0 to 15 with n = 8 steps come at 0 and 8: after 1 and after 8 micro-batches; 7 are left."
        ),
    ),
    fix=Fix("test `(i + 1) % n == 0`, and step once more after the loop"),
    bad=Example("train.py", _SCRIPT.replace("{number}", "i")),
    good=Example("train.py", _SCRIPT.replace("{number}", "(i + 1)")),
    symptoms=("fewer steps than expected with accumulation", "first step is too small"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop that accumulates and steps where the count of `enumerate` from 0 is a multiple of a number over 1."""
    for loop in training_loops(flow_of(run.document)):
        steps = list(loop.steps())
        if len(steps) != 1 or steps[0].index < loop.backward.index or loop.is_within_period(loop.backward):
            continue
        clears = list(loop.called("zero_grad"))
        if not clears or not all(loop.is_within_period(event) for event in clears):
            continue
        for block in steps[0].below(loop.block):
            size = _size(block)
            if size is not None:
                yield RULE.at(block.place or steps[0].place, size=size)
                return


def _size(block: Block) -> str | None:
    """What the count is divided by, where the test is `i % n == 0` or `not i % n` and nothing else."""
    test = block.value
    if block.kind != "if" or test is None:
        return None
    is_zero = test.made == "compare" and test.name == "Eq" and test.args[-1].constant == 0
    if not is_zero and not (test.made == "binary" and test.name == "not"):
        return None
    test = test.args[0]
    if test.made != "binary" or test.name != "%" or not _counts_from_zero(test.args[0]):
        return None
    number = test.args[1].constant
    if isinstance(number, int) and number < 2:
        return None
    return str(number) if isinstance(number, int) else "n"


def _counts_from_zero(value: Value) -> bool:
    over = value.of
    is_count = value.made == "unknown" and value.name == "count" and over is not None
    return is_count and over is not None and len(over.args) == 1 and "start" not in over.keywords
