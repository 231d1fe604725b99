"""E114 evaluated-in-training-mode"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, root, without_gradients
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = Net()\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor epoch in range(10):\n"
    "    model.train()\n    for x, y in train_loader:\n        "
    "torch.nn.functional.cross_entropy(model(x), y).backward()\n"
    "        optimizer.step()\n        optimizer.zero_grad()\n{mode}    with torch.no_grad():\n"
    "        for x, y in val_loader:\n            print((model(x).argmax(-1) == y).sum())\n"
)

RULE = Rule(
    code="E114",
    name="evaluated-in-training-mode",
    severity="warning",
    message="the evaluation runs in training mode: {what}",
    why="In training mode dropout goes on switching units off, so the figures are those of a weaker model "
    "and change from "
    "run to run, and batch norm goes on collecting statistics, now from the data of the evaluation.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/notes/autograd.html",
            "'You are responsible for calling model.eval() and model.train() if your model relies on modules such as "
            "Dropout and BatchNorm that may behave differently depending on training mode'.",
        ),
        Arithmetic("Dropout 0.5 leaves half of the units: two evaluations of the same weights differ."),
    ),
    fix=Fix("call `eval()` before the evaluation and `train()` behind it", safety="same training"),
    bad=Example("train.py", _SCRIPT.format(mode="")),
    good=Example("train.py", _SCRIPT.format(mode="    model.eval()\n")),
    symptoms=(
        "metrics change at every evaluation of the same checkpoint",
        "validation accuracy lower than expected",
        "evaluation is not reproducible",
        "validation loss differs",
        "same input gives different predictions at inference",
        "model.eval() is missing",
    ),
)
_HELD_OUT: Final = ("val", "test", "eval", "dev")


def check(run: Description) -> Iterator[Diagnosis]:
    """A script that switches a model to training: a loop over a held-out loader calls it without gradients, and nothing
    ever switches it to evaluation."""
    flow = flow_of(run.document)
    trains = [event for event in flow.named("train") if event.subject is not None]
    if says(run.document, "reset_running_stats", "update_bn"):
        return  # a pass in training mode that measures the statistics of averaged weights
    if flow.is_whole and (switched := _switched_for_it(flow, trains)) is not None:
        what = "`train()` switches it there itself"
        yield RULE.at(switched.place, what=what)
        return
    if not flow.is_whole or not any(True for _ in flow.named("backward")):
        return
    if any(True for _ in flow.named("eval", "inference_mode_")) or _sets_mode(flow):
        return
    switched = [root(event.subject) for event in trains]
    for call in forwards(flow.events):
        model = root(call.value.of)
        is_switched = any(model is each for each in switched)
        if (is_switched or _differs_by_mode(model)) and _is_evaluation(call):
            yield RULE.at(call.place, what="nothing calls `eval()` on the model")
            return


def _differs_by_mode(model: Value | None) -> bool:
    """Whether a model of the script is seen to have dropout or batch norm."""
    if model is None or not (model.made == "object" or model.name.startswith("torchvision.models.")):
        return False
    waiting, seen = [model], set[int]()
    while waiting and len(seen) < 200:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.made == "call" and each.last.startswith(("Dropout", "BatchNorm")) and "nn." in each.name:
            rate = each.argument(0, "p")
            if each.last.startswith("BatchNorm") or rate is None or rate.constant != 0:
                return True
        waiting += [*each.args, *each.fields.values()]
    return model.name.startswith("torchvision.models.resnet")


def _switched_for_it(flow: Flow, trains: list[Event]) -> Event | None:
    """A `train()` without gradients, or in a function that only evaluates, before a loop over held-out data, with no
    `eval()` in between."""
    for event in trains:
        if event.value.args or event.value.keywords:
            continue
        call = next(
            (
                each
                for each in forwards(flow.events[event.index + 1 :])
                if root(each.value.of) is root(event.subject)
            ),
            None,
        )
        if call is None or not _is_evaluation(call) or not _share_a_stretch(event, call):
            continue
        if not any(each.name in ("eval", "backward") for each in flow.events[event.index : call.index]):
            return event
    return None


def _share_a_stretch(event: Event, call: Event) -> bool:
    """Whether both are in one block without gradients, or in one function, outside of any loop that trains."""
    return (without_gradients(event) and call.path[: len(event.path)] == event.path) or (
        bool(event.path) and event.path[-1].kind == "function" and call.path[: len(event.path)] == event.path
    )


def _sets_mode(flow: Flow) -> bool:
    """Whether training is switched off in another way: `train(False)`, `train(mode)`, `model.training = False`."""
    given = [(*event.value.args, *event.value.keywords.values()) for event in flow.named("train")]
    return any(mode.constant is not True for each in given for mode in each) or any(
        True for _ in flow.sets("training")
    )


def _is_evaluation(call: Event) -> bool:
    loop = next(
        (each for each in reversed(call.path) if each.kind in ("for", "while", "comprehension")), None
    )
    if loop is None or not without_gradients(call):
        return False
    names = [(each.label or each.name).lower() for each in walk(loop.value, most=12)]
    return any(part in name for name in names for part in _HELD_OUT)
