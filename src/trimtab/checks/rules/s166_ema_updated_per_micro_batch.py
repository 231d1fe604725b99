"""S166 ema-updated-per-micro-batch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn\n"
    "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))\nfor i, (x, y) in enumerate(loader):\n"
    "    (torch.nn.functional.cross_entropy(model(x), y) / 4).backward()\n    if (i + 1) % 4 == 0:\n"
    "        optimizer.step()\n        optimizer.zero_grad()\n{indent}ema.update_parameters(model)\n"
)

RULE = Rule(
    code="S166",
    name="ema-updated-per-micro-batch",
    severity="warning",
    message="the moving average is updated after every micro-batch, but the weights change only once per step: the "
    "effective decay is lower than configured",
    why="An update between two steps moves the average towards the same weights again. With n micro-batches in a "
    "step a decay "
    "of d works as d to the power of n.",
    evidence=(
        Arithmetic("0.999 four times a step is 0.996: the average remembers 250 steps instead of 1,000."),
    ),
    fix=Fix("update the average after `optimizer.step()`, in the same branch"),
    bad=Example("train.py", _SCRIPT.replace("{indent}", "    ")),
    good=Example("train.py", _SCRIPT.replace("{indent}", "        ")),
    symptoms=("EMA follows the model too closely", "EMA is no better than the model"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop that steps every so many turns and updates an average in each."""
    for loop in training_loops(flow_of(run.document)):
        steps = list(loop.steps())
        if not steps or not all(loop.is_within_period(step) for step in steps):
            continue
        for event in loop.called("update_parameters", "update", "step", "step_ema", "ema_update"):
            if _is_average(event) and not any(
                block.kind in ("if", "else") for block in event.below(loop.block)
            ):
                yield RULE.at(event.place)
                return


def _is_average(event: Event) -> bool:
    """`AveragedModel.update_parameters`, or an update of something that is called an EMA."""
    of = event.subject
    if of is None:
        return False
    if event.name == "update_parameters":
        return True
    names = (of.label or of.name).lower().split("_")
    return (
        "ema" in names and "loss" not in names and of.last != "AverageMeter" and event.name != "update_loss"
    )
