"""S170 average-never-updated"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import may_say, says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn\n"
    "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))\nfor x, y in loader:\n"
    "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(model(x), y).backward()\n"
    "    optimizer.step()\n{update}torch.save(ema.state_dict(), 'ema.pt')\n"
)

RULE = Rule(
    code="S170",
    name="average-never-updated",
    severity="error",
    message="`{name}` is never updated: it stays at the weights before the first step",
    why="A moving average changes only when the script updates it, usually after each step. Without an update it keeps "
    "the weights that it was created with.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/diffusers/pull/7048",
            "Adds `ema_unet.step(unet.parameters())`, which was missing from the training script of SDXL.",
        ),
        Arithmetic("Without an update the average is the weights before the first step."),
    ),
    fix=Fix("call `{name}.{way}(...)` after each `optimizer.step()`"),
    bad=Example("train.py", _SCRIPT.replace("{update}", "")),
    good=Example("train.py", _SCRIPT.replace("{update}", "    ema.update_parameters(model)\n")),
    symptoms=(
        "EMA weights are the initial weights",
        "EMA model does not learn",
        "averaged weights give random output",
    ),
)
_UPDATES: Final = (
    "step", "update", "update_parameters", "update_model_average", "step_ema", "ema_update", "update_ema", "__call__",
    "forward", "apply_shadow", "update_params", "after_step", "on_train_batch_end",
)  # fmt: skip
_CLASSES: Final = (
    "EMAModel", "AveragedModel", "ModelEMA", "ModelEma", "ModelEmaV2", "ModelEmaV3", "ExponentialMovingAverage", "EMA",
)  # fmt: skip
_WAYS: Final = {"EMAModel": "step", "AveragedModel": "update_parameters"}


def check(run: Description) -> Iterator[Diagnosis]:
    """An average that a script with a training loop makes and never updates; one that is passed to code outside
    the file is not reported."""
    if not may_say(run.document, *_CLASSES):
        return
    flow = flow_of(run.document)
    loops = training_loops(flow) if flow.is_whole else []
    for event in flow.named(*_CLASSES) if loops else ():
        average = event.value
        if average.made != "call" or _is_handed_on(flow, average):
            continue
        used = [each for each in flow.events if each.kind == "call" and root(each.subject) is average]
        if not any(each.name in _UPDATES for each in used) and not says(
            run.document, "update_ema", "ema_update"
        ):
            way = _WAYS.get(average.last, "update")
            yield RULE.at(event.place, name=average.label or "ema", way=way)
            return


def _is_handed_on(flow: Flow, average: Value) -> bool:
    """Whether a call or an object gets the average, and may update it."""
    for event in flow.events:
        values = (
            (*event.value.args, *event.value.keywords.values()) if event.kind == "call" else (event.value,)
        )
        is_given = event.kind in ("call", "set") and any(each is average for each in values)
        if is_given and event.name not in ("save", "prepare", "register_for_checkpointing", "len", "print"):
            return True
    return False
