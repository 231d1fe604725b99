"""S170 average-never-updated"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import may_say, says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_model, root
from trimtab.checks.read.flow.values import Flow, Value, walk
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
_UPDATES: Final = ("update", "step", "add", "push", "accumulate")
"""Parts of the names of methods that update an average."""
_READS: Final = frozenset(
    {
        "state_dict", "to", "cuda", "cpu", "float", "half", "eval", "train", "parameters", "named_parameters",
        "average_parameters", "buffers", "requires_grad_", "store", "restore", "copy_to", "save_pretrained", "module",
    }
)  # fmt: skip
"""Methods that leave an average as it is; of any other one it is not known."""
_LIBRARIES: Final = ("torch.", "diffusers.", "timm.", "torch_ema.", "ema_pytorch.")
_CLASSES: Final = (
    "EMAModel", "AveragedModel", "ModelEMA", "ModelEma", "ModelEmaV2", "ModelEmaV3", "ExponentialMovingAverage", "EMA",
)  # fmt: skip
_HANDLERS: Final = (
    "save",
    "load_state_dict",
    "prepare",
    "register_for_checkpointing",
    "len",
    "print",
)
"""Calls that get an average and do not update it."""
_WAYS: Final = {"EMAModel": "step", "AveragedModel": "update_parameters"}


def check(run: Description) -> Iterator[Diagnosis]:
    """An average of a model's weights that a script with a training loop makes and never updates. One that is passed
    to code outside the file is not reported, nor one with a method that may update it; a note where the class is of no
    library above, so that its name alone tells what it does."""
    if not may_say(run.document, *_CLASSES):
        return
    flow = flow_of(run.document)
    loops = training_loops(flow) if flow.is_whole else []
    for event in flow.named(*_CLASSES) if loops else ():
        average = event.value
        label = average.label.rpartition(".")[2]
        if average.made != "call" or not label or not _is_of_weights(average) or _is_handed_on(flow, average):
            continue
        if not _may_be_updated(flow, average, loops) and not says(
            run.document, "update_ema", "ema_update", *(f"{label}.{each}" for each in _UPDATES)
        ):
            way = _WAYS.get(average.last, "update")
            severity = "error" if average.name.startswith(_LIBRARIES) else "note"
            yield RULE.at(event.place, name=average.label, way=way, severity=severity)
            return


def _is_of_weights(average: Value) -> bool:
    """Whether it is made from a model or its parameters; a meter of losses is made from numbers."""
    given = next(iter((*average.args, *average.keywords.values())), None)
    return is_model(given) or any(
        each.made == "call" and each.last in ("parameters", "named_parameters") for each in walk(given)
    )


def _may_be_updated(flow: Flow, average: Value, loops: list[Loop]) -> bool:
    """Whether a method is called on it that updates it by its name, or an unknown one in a loop of the training."""
    around = {
        id(block)
        for loop in loops
        for block in (loop.block, *loop.backward.path)
        if block is loop.block or block.kind in ("for", "while")
    }
    for event in flow.each("call"):
        if _holder(event.subject, average) is not average:
            continue
        is_update = event.name == "__call__" or any(part in event.name for part in _UPDATES)
        if is_update or (event.name not in _READS and any(id(block) in around for block in event.path)):
            return True
    return False


def _holder(value: Value | None, average: Value) -> Value | None:
    """What a value is a part of, `ema` of `ema.module` and of what `ema.parameters()` yields; the average where it is
    on the way."""
    for _ in range(20):
        if value is average or value is None or value.of is None:
            break
        value = value.of
    return root(value)


def _is_handed_on(flow: Flow, average: Value) -> bool:
    """Whether a call or an object gets the average, and may update it."""
    for event in flow.events:
        values = (
            (*event.value.args, *event.value.keywords.values()) if event.kind == "call" else (event.value,)
        )
        is_given = event.kind in ("call", "set") and any(
            each is average or (_is_part(each) and _holder(each, average) is average) for each in values
        )
        if is_given and event.name not in _HANDLERS:
            return True
    return False


def _is_part(value: Value) -> bool:
    """Whether a value is a part of an object through which it may be changed: `ema.module`, `ema.parameters()`."""
    return value.made in ("attribute", "bound") or (
        value.made == "call" and value.last in ("parameters", "named_parameters", "buffers")
    )
