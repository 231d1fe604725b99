"""M326 mask-that-hides-nothing"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.ends import last_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nclass Attention(nn.Module):\n    def forward(self, q, k, v, mask):\n"
    "        scores = q @ k.transpose(-2, -1)\n        scores = scores.masked_fill(mask == 0, {value})\n"
    "        return torch.softmax(scores, dim=-1) @ v\n"
    "optimizer = torch.optim.AdamW(Attention().parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M326",
    name="mask-that-hides-nothing",
    severity="error",
    message="{fault}",
    why="A masked score has to be so low that its weight after the softmax is 0. A small positive number is a score "
    "like any other, so the position keeps its share; and -inf filled in after the softmax enters the sum over values.",
    evidence=(
        Arithmetic(
            "exp(1e-9) = 1: among scores around 0 a masked position gets as much weight as any other."
        ),
    ),
    fix=Fix("fill the scores with `float('-inf')` before the softmax"),
    bad=Example("train.py", _SCRIPT.replace("{value}", "1e-9")),
    good=Example("train.py", _SCRIPT.replace("{value}", "-1e9")),
    symptoms=(
        "mask has no effect",
        "training loss near 0 and generation is garbage",
        "attention output is NaN",
    ),
)
_FILLS: Final = ("masked_fill", "masked_fill_")


def check(run: Description) -> Iterator[Diagnosis]:
    """What masked scores are filled with, and whether they went through a softmax before."""
    flow = flow_of(run.document)
    reported: set[object] = set()
    for event in flow.named(*_FILLS):
        given = event.value.argument(1, "value")
        number = None if given is None else _number(given)
        if number is None or event.place in reported:
            continue
        if last_of(event.subject) == "softmax" and number < -1e3:
            reported.add(event.place)
            yield RULE.at(
                event.place, fault=f"scores are filled with {number:g} after the softmax instead of before it"
            )
        elif 0 < number < 1e-3 and _goes_into_softmax(flow.events, event):
            reported.add(event.place)
            yield RULE.at(
                event.place,
                fault=f"masked scores are filled with {number:g}, which is an ordinary score; the position is not "
                f"masked",
            )


def _number(value: Value) -> float | None:
    if value.made == "call" and value.name == "float" and value.args:
        return float("-inf") if value.args[0].constant in ("-inf", "-Inf", "-infinity") else None
    if value.made == "binary" and value.name == "-" and len(value.args) == 1 and value.args[0].last == "inf":
        return float("-inf")
    if (
        value.constant is UNKNOWN
        or isinstance(value.constant, bool)
        or not isinstance(value.constant, int | float)
    ):
        return None
    return float(value.constant)


def _goes_into_softmax(events: list[Event], fill: Event) -> bool:
    for event in events:
        if (
            event.index > fill.index
            and event.kind == "call"
            and event.name in ("softmax", "__call__", "soft_max")
        ):
            if event.name == "__call__" and not (
                event.value.of is not None and event.value.of.last == "Softmax"
            ):
                continue
            given = (*event.value.args, *((event.subject,) if event.subject is not None else ()))
            if any(each is fill.value for one in given for each in walk(one, most=12)):
                return True
            if fill.name == "masked_fill_" and any(each is fill.subject for each in given):
                return True
    return False
