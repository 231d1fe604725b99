"""E117 best-score-starts-out-of-reach"""

import math
from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop
from trimtab.checks.read.flow.values import Block, Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "best_loss = {start}\nfor epoch in range(10):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
    "    loss = evaluate(model)\n    if loss < best_loss:\n        best_loss = loss\n"
    "        torch.save(model.state_dict(), 'best.pt')\n"
)

RULE = Rule(
    code="E117",
    name="best-score-starts-out-of-reach",
    severity="error",
    message="`{best}` starts at {start} and is only replaced by a {way} value, which no result can be: the best model "
    "is never saved",
    why="A loss is above 0 and an accuracy below infinity. The comparison never holds: no checkpoint is saved as "
    "the best, or early stopping ends the run at once.",
    evidence=(Arithmetic("A cross entropy is at least 0, so `loss < 0` is false at every epoch."),),
    fix=Fix("start at {right}"),
    bad=Example("train.py", _SCRIPT.replace("{start}", "0")),
    good=Example("train.py", _SCRIPT.replace("{start}", "float('inf')")),
    symptoms=("best checkpoint is never saved", "early stopping stops at once", "best model is missing"),
)
_LOSSES: Final = ("loss", "perplexity", "ppl", "error", "wer", "cer", "mse", "mae", "rmse")
_SCORES: Final = ("acc", "f1", "auc", "bleu", "map", "iou", "dice", "score", "recall", "precision")


def check(run: Description) -> Iterator[Diagnosis]:
    """A branch in a loop that replaces a "best" value by a new one, and what the best value is at its start."""
    if not says(run.document, "best"):
        return
    flow = flow_of(run.document)
    for event in (*flow.each("name"), *flow.each("set")):
        if "best" not in event.name.lower():
            continue
        block = next((each for each in reversed(event.path) if each.kind == "if"), None)
        if block is None or innermost_loop(event) is None or block.value is None:
            continue
        way = _way(block, event)
        start = _start(flow, event)
        if way == "lower" and start == 0 and _is_called(event, _LOSSES):
            yield RULE.at(event.place, best=event.name, start="0", way="lower", right="`float('inf')`")
            return
        if way == "higher" and start == math.inf:
            yield RULE.at(
                event.place, best=event.name, start="infinity", way="higher", right="`float('-inf')`"
            )
            return
        if way == "lower" and start == -math.inf:
            yield RULE.at(
                event.place, best=event.name, start="-infinity", way="lower", right="`float('inf')`"
            )
            return


def _way(block: Block, event: Event) -> str:
    """Whether a new value is taken where it is lower or higher than the one that is kept; empty where another test, or
    a second one, decides."""
    test = block.value
    if test is None or test.made != "compare" or len(test.args) != 2:
        return ""
    one, other = test.args
    if one is event.value and _is_kept(other, event):
        return {"Lt": "lower", "LtE": "lower", "Gt": "higher", "GtE": "higher"}.get(test.name, "")
    if other is event.value and _is_kept(one, event):
        return {"Lt": "higher", "LtE": "higher", "Gt": "lower", "GtE": "lower"}.get(test.name, "")
    return ""


def _is_kept(value: Value, event: Event) -> bool:
    return event.name in (value.label, value.name) or value.made in (
        "constant",
        "unknown",
        "call",
        "attribute",
    )


def _start(flow: Flow, event: Event) -> float | None:
    """The number that the name is given before the loop, once."""
    loop = innermost_loop(event)
    before = [
        each
        for each in flow.each(event.kind)
        if each.name == event.name and each.index < event.index and loop is not None and not each.within(loop)
    ]
    return _number(before[-1].value) if before else None


def _number(value: Value) -> float | None:
    if value.constant is not UNKNOWN:
        is_number = isinstance(value.constant, int | float) and not isinstance(value.constant, bool)
        return float(value.constant) if is_number else None
    if value.made == "binary" and value.name == "-" and len(value.args) == 1:
        inner = _number(value.args[0])
        return None if inner is None else -inner
    if value.made == "imported" and value.name in ("numpy.inf", "math.inf", "torch.inf", "numpy.Inf"):
        return math.inf
    if value.made == "call" and value.name == "float" and value.args:
        return {"inf": math.inf, "-inf": -math.inf, "infinity": math.inf}.get(
            str(value.args[0].constant).lower()
        )
    return None


def _is_called(event: Event, words: tuple[str, ...]) -> bool:
    """Whether the new value is called a loss, and no score: a reward below 0 or a log-likelihood may be below 0."""
    names = f"{event.name} {event.value.label} {event.value.name}".lower()
    return any(word in names for word in words) and not any(word in names for word in _SCORES)
