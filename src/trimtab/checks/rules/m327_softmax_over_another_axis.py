"""M327 softmax-over-another-axis"""

from collections.abc import Iterator
from typing import Any, Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.ends import end_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nclass Attention(nn.Module):\n    def forward(self, q, k, v):\n"
    "        weights = torch.softmax(q @ k.transpose(1, 2), dim={dim})\n        return weights @ v\n"
    "optimizer = torch.optim.AdamW(Attention().parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M327",
    name="softmax-over-another-axis",
    severity="error",
    message="{fault}",
    why="Attention weighs the values of all keys, so the weights of each query, its row of the scores, have to add up "
    "to 1. Over another axis the softmax makes the queries, the heads or the examples of a batch compete for a key. "
    "Without an axis torch takes the first of one or three axes and the second of any other number, with a warning.",
    evidence=(
        Arithmetic("In `weights @ values` row i of the result is the sum over j of weights[i, j] values[j]."),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html",
            "dim: a dimension along which Softmax will be computed (so every slice along dim will sum to 1).",
        ),
    ),
    fix=Fix("pass `dim=-1`"),
    bad=Example("train.py", _SCRIPT.replace("{dim}", "1")),
    good=Example("train.py", _SCRIPT.replace("{dim}", "-1")),
    symptoms=(
        "attention learns nothing",
        "results depend on the batch size",
        "Implicit dimension choice for softmax",
    ),
)
_IMPLICIT: Final = frozenset(
    {
        "torch.nn.functional.softmax", "torch.nn.functional.log_softmax", "torch.nn.Softmax", "torch.nn.LogSoftmax",
    }
)  # fmt: skip
_PRODUCTS: Final = frozenset({"matmul", "bmm"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A softmax over scores of queries and transposed keys, with at least three axes, whose result is the left side of
    a product."""
    if not says(run.document, "softmax", "Softmax"):
        return
    flow = flow_of(run.document)
    reported: set[object] = set()
    for event in flow.each("call"):
        if event.place in reported:
            continue
        if _is_without_axis(event):
            reported.add(event.place)
            fault = "no dim is given: torch picks one by the number of dimensions, which for a 3-D input is the batch"
            yield RULE.at(event.place, severity="note", fault=fault)
            continue
        scores, dim = _softmax(event)
        axes = _axes(scores)
        if axes is None or dim is None or not _is_wrong(dim, axes) or not _weighs(flow, event.value):
            continue
        reported.add(event.place)
        fault = (
            f"the softmax goes over axis {dim}, and the product with the values sums over the last: the weights of a "
            "query do not add up to 1"
        )
        is_open = axes == (-2, -1) and dim == 1  # of a matrix without a batch 1 is the last
        yield RULE.at(event.place, severity="warning" if is_open else None, fault=fault)
    for made, dim in _contracted(flow):
        if made.place is not None and made.place not in reported:
            reported.add(made.place)
            fault = f"the softmax normalizes axis {dim}, but `einsum` sums the weights over another one"
            yield RULE.at(made.place, fault=fault)
    for made in _over_positions(flow):
        if made.place is not None and made.place not in reported:
            reported.add(made.place)
            fault = f"`{made.last}` normalizes axis 1, the positions, but the classes are on the last axis"
            yield RULE.at(made.place, fault=fault)


def _contracted(flow: Flow) -> Iterator[tuple[Value, int]]:
    """Softmaxes over an axis that the `einsum` with the values keeps, with that axis."""
    for event in flow.named("einsum"):
        call = event.value
        equation = call.args[0].constant if call.args else None
        given = call.args[1].args if len(call.args) == 2 and call.args[1].made == "list" else call.args[1:]
        if not isinstance(equation, str) or "->" not in equation or "." in equation:
            continue
        inputs, _, output = equation.replace(" ", "").partition("->")
        for letters, operand in zip(inputs.split(","), given, strict=False):
            made = _behind_dropout(operand)
            scores, dim = _softmax_of(flow, made)
            lost = [at for at, letter in enumerate(letters) if letter not in output]
            if scores is None or dim is None or len(lost) != 1 or _is_divided_by_sum(flow, made):
                continue
            if dim % len(letters) != lost[0] and -len(letters) <= dim < len(letters):
                yield made, dim


def _behind_dropout(value: Value) -> Value:
    for _ in range(4):
        value = plain(value) or value
        is_dropout = value.name == "__call__" or value.last == "dropout" or "drop" in value.name
        if value.made != "call" or not value.args or not is_dropout or value.last == "softmax":
            return value
        if value.of is not None and (root(value.of) or value.of).name == "torch.nn.Softmax":
            return value
        value = value.args[0]
    return value


def _softmax_of(flow: Flow, made: Value) -> tuple[Value | None, Any]:
    """As `_softmax`, of a value."""
    event = next((each for each in flow.named("softmax", "__call__") if each.value is made), None)
    return (None, None) if event is None else _softmax(event)


def _is_divided_by_sum(flow: Flow, weights: Value) -> bool:
    """Whether the weights are normalized once more, as in slot attention."""
    return any(event.subject is weights for event in flow.named("sum"))


def _over_positions(flow: Flow) -> Iterator[Value]:
    """Of each loss over classes the softmax over axis 1 that its rows were cut from, where targets of two axes were
    flattened too: `nll_loss(logp.view(-1, n), ids.view(-1))`."""
    for event in flow.each("call"):
        call = event.value
        if event.name == "__call__":
            criterion = root(call.of)
            is_loss = criterion is not None and criterion.made == "call" and criterion.last == "NLLLoss"
        else:
            is_loss = event.name == "nll_loss" and call.of is None
        rows, targets = call.argument(0, "input"), call.argument(1, "target")
        if not is_loss or not _is_flattened(rows, 2) or not _is_flattened(targets, 1):
            continue
        made = end_of(rows)
        if made is not None and made.last in ("softmax", "log_softmax", "LogSoftmax", "Softmax"):
            is_function = made.last[0].islower() and (made.of is None or made.of.made == "imported")
            dim = made.argument(1 if is_function else 0, "dim")
            if dim is not None and type(dim.constant) is int and dim.constant == 1:
                yield made


def _is_flattened(value: Value | None, axes: int) -> bool:
    """Whether the last call made a tensor of so many axes of it: `.view(-1, n)` of two, `.reshape(-1)` of one."""
    return (
        value is not None
        and value.made == "call"
        and value.name in ("view", "reshape")
        and len(value.args) == axes
        and value.args[0].constant == -1
    )


def _is_without_axis(event: Event) -> bool:
    """`F.softmax(x)` and `nn.Softmax()`."""
    call = event.value
    if call.name not in _IMPLICIT or call.has_rest or "dim" in call.keywords:
        return False
    return len(call.args) == (0 if call.last[0].isupper() else 1)


def _softmax(event: Event) -> tuple[Value | None, Any]:
    """What goes in, and the axis; None where it is none or cannot be known."""
    call, made = event.value, event.value
    if call.last == "softmax" and call.of is None:
        scores = call.argument(0, "input")
        dim = call.argument(1, "dim")
    elif event.name == "softmax" and call.of is not None:
        scores, dim = call.of, call.argument(0, "dim")
    elif event.name == "__call__" and call.of is not None:
        made = root(call.of) or call
        if made.made != "call" or made.name != "torch.nn.Softmax":
            return None, None
        scores, dim = call.argument(0, "input"), made.argument(0, "dim")
    else:
        return None, None
    if dim is None or dim.constant is UNKNOWN or type(dim.constant) is not int:
        return scores, None
    return scores, dim.constant


def _axes(scores: Value | None) -> tuple[int, int] | None:
    """The last two axes as the transposed keys name them, the lower first: (-2, -1), (1, 2), (2, 3)."""
    for each in walk(scores, most=12):
        right = None
        if each.made == "binary" and each.name == "@":
            right = each.args[1]
        elif each.made == "call" and each.last in _PRODUCTS:
            right = each.args[-1] if each.args and (each.of is None or len(each.args) == 1) else None
        right = _transposed(right)
        if right is not None:
            axes = [axis.constant for axis in right.args[-2:]]
            if len(axes) == 2 and all(type(axis) is int for axis in axes):
                low, high = sorted(axes)
                return (low, high) if (low, high) in ((-2, -1), (1, 2), (2, 3)) else None
    return None


def _transposed(value: Value | None) -> Value | None:
    """The call of `transpose` that made the keys, if one did last."""
    if value is not None and value.made == "call" and value.name == "contiguous":
        value = value.of
    is_one = value is not None and value.made == "call" and value.last in ("transpose", "swapaxes")
    return value if is_one else None


def _is_wrong(dim: int, axes: tuple[int, int]) -> bool:
    """Whether an axis is surely not the last: of three or more 0 and 1, of four 2 as well, and -2 of any."""
    if dim < -1:
        return True
    return dim < {(-2, -1): 2, (1, 2): 2, (2, 3): 3}[axes] and dim != -1


def _weighs(flow: Flow, weights: Value) -> bool:
    """Whether the weights are the left side of a product, and nothing divides them by their sum."""
    for event in flow.events:
        if (
            event.kind == "call"
            and event.name in ("sum", "transpose", "permute")
            and event.subject is weights
        ):
            return False
    for event in flow.events:
        given = (event.value, *event.value.args)
        for one in given:
            for each in walk(one, most=8):
                if each.made == "binary" and each.name == "@" and _is(each.args[0], weights):
                    return True
                if each.made == "call" and each.last in _PRODUCTS and each.args:
                    left = each.of if each.of is not None and len(each.args) == 1 else each.args[0]
                    if _is(left, weights):
                        return True
        for block in event.path:
            for returned in block.returned:
                if returned.made == "binary" and returned.name == "@" and _is(returned.args[0], weights):
                    return True
    return False


def _is(value: Value, weights: Value) -> bool:
    """The weights themselves, or behind a dropout."""
    value = plain(value) or value
    for _ in range(3):
        if value is weights:
            return True
        is_dropout = value.name == "__call__" or value.last == "dropout" or "drop" in value.name
        if value.made == "call" and value.args and is_dropout:
            value = value.args[0]
        else:
            return False
    return False
