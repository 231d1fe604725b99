"""S163 plateau-scheduler-misused"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.lightning import PACKAGES, returned_schedules
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options, root
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='{mode}')\nfor epoch in range(10):\n"
    "    train(model, optimizer)\n    accuracy = evaluate(model)\n    scheduler.step(accuracy)\n"
)

RULE = Rule(
    code="S163",
    name="plateau-scheduler-misused",
    severity="error",
    message="{fault}",
    why="ReduceLROnPlateau lowers the rate when its metric has not improved for some epochs, and `mode` says "
    "which way is "
    "up. The wrong way round it takes every improvement for a plateau and lowers the rate all the time.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html",
            "mode: 'In min mode, lr will be reduced when the quantity monitored has stopped decreasing; in max mode it "
            "will be reduced when the quantity monitored has stopped increasing. Default: min.'",
        ),
        Arithmetic(
            "torch 2.13: `step()` without a metric raises TypeError, 'missing 1 required positional argument'."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{mode}", "min")),
    good=Example("train.py", _SCRIPT.replace("{mode}", "max")),
    symptoms=(
        "learning rate falls although the model improves",
        "ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'",
        "step() missing 1 required positional argument: 'metrics'",
        "ReduceLROnPlateau in Lightning requires a metric to monitor",
    ),
)
_LOSSES: Final = ("loss", "perplexity", "ppl", "error", "wer", "rmse", "mse", "mae")
_SCORES: Final = ("acc", "f1", "auc", "bleu", "map", "iou", "dice", "recall", "precision", "r2")
_PLATEAU: Final = "torch.optim.lr_scheduler.ReduceLROnPlateau"
_TAKING: Final = frozenset({"accelerate", "lightning", "pytorch_lightning"})


def check(run: Description) -> Iterator[Diagnosis]:
    """What the schedule is stepped with, by its name, beside its mode."""
    flow = flow_of(run.document)
    for each in returned_schedules(flow) if run.document.imports & PACKAGES else ():
        made = each.schedule
        if made.name == _PLATEAU and "monitor" not in each.options and made.place is not None:
            if says(run.document, "lr_scheduler_step", "automatic_optimization"):
                break
            fault = "Lightning needs a metric for ReduceLROnPlateau, but `configure_optimizers` names none"
            yield RULE.at(
                made.place, fault=fault, fix='return `{"scheduler": scheduler, "monitor": "val_loss"}`'
            )
            return
    for event in flow.named("step"):
        schedule = root(event.subject)
        if (
            schedule is None
            or schedule.made != "call"
            or schedule.has_rest
            or len(options(event.subject)) != 1
        ):
            continue
        if schedule.name != _PLATEAU:
            continue
        given = event.value.argument(0, "metrics")
        if given is None:
            if not event.value.has_rest and not event.value.keywords and not run.document.imports & _TAKING:
                fault = "`step()` of ReduceLROnPlateau gets no metric, and raises TypeError"
                yield RULE.at(
                    event.place, fault=fault, fix="hand it the metric of the validation: `step(loss)`"
                )
                return
            continue
        mode = schedule.argument(1, "mode")
        written = "min" if mode is None else mode.constant
        name = _name(given)
        if written == "min" and _is_one(name, _SCORES, _LOSSES):
            fault = f"`{name}` rises as the model improves, and the mode is `min`"
            yield RULE.at(event.place, fault=fault, fix="pass `mode='max'`")
            return
        if written == "max" and _is_one(name, _LOSSES, _SCORES):
            fault = f"`{name}` falls as the model improves, and the mode is `max`"
            yield RULE.at(event.place, fault=fault, fix="pass `mode='min'`")
            return


def _name(value: Value) -> str:
    if value.made == "item" and value.args and isinstance(value.args[0].constant, str):
        return value.args[0].constant
    if value.made == "binary" and value.name == "-" and len(value.args) == 1:
        return ""  # turned round
    return value.label or (value.name if value.made in ("attribute", "parameter", "unknown") else "")


def _is_one(name: str, words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    parts = name.lower().replace("-", "_").split("_")
    is_one = any(part in words or (part.startswith("acc") and "acc" in words) for part in parts)
    return is_one and not any(part in others for part in parts)
