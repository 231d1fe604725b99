"""S173 schedule-fails-at-step-0"""

import ast
from collections.abc import Iterator
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S173",
    name="schedule-fails-at-step-0",
    severity="error",
    message="`{name}` divides by the step, and LambdaLR calls it with step 0 first: ZeroDivisionError",
    why="LambdaLR calls its function with 0 when it is created. `step ** -0.5` and `1 / step` are "
    "undefined there.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html",
            "lr_lambda: 'A function which computes a multiplicative factor given an integer parameter "
            "epoch'; the first call is for epoch 0.",
        ),
        Arithmetic("0 ** -0.5 raises ZeroDivisionError in Python."),
    ),
    fix=Fix("count from 1: `step = max(step, 1)` or `step + 1`"),
    bad=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
        "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(step ** -0.5, step * "
        "4000 ** -1.5))\nfor x, y in loader:\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n"
        "    schedule.step()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
        "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) ** -0.5, "
        "(step + 1) * 4000 ** -1.5))\nfor x, y in loader:\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n"
        "    schedule.step()\n",
    ),
    symptoms=(
        "ZeroDivisionError: 0.0 cannot be raised to a negative power",
        "0 cannot be raised to a negative power",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A function of the script whose parameter itself, never changed or tested, has a negative power or is a
    divisor."""
    for event in flow_of(run.document).named("LambdaLR"):
        given = event.value.argument(1, "lr_lambda")
        node: Any = given.node if given is not None else None
        if not isinstance(node, ast.Lambda | ast.FunctionDef) or not node.args.args:
            continue
        step = next((each.arg for each in node.args.args if each.arg != "self"), "")
        if step and not _is_guarded(node, step) and _fails(node, step):
            name = node.name if isinstance(node, ast.FunctionDef) else "the function"
            yield RULE.at(event.place, name=name)
            return


def _is_guarded(node: ast.AST, step: str) -> bool:
    """Whether something tests or changes the parameter before, so that it may not be 0."""
    for each in ast.walk(node):
        if isinstance(each, ast.If | ast.IfExp | ast.While | ast.Try) or (
            isinstance(each, ast.Name) and each.id == step and not isinstance(each.ctx, ast.Load)
        ):
            return True
    return False


def _fails(node: ast.AST, step: str) -> bool:
    for each in ast.walk(node):
        if not isinstance(each, ast.BinOp):
            continue
        if isinstance(each.op, ast.Div) and _is_name(each.right, step):
            return True
        is_negative = isinstance(each.right, ast.UnaryOp) and isinstance(each.right.op, ast.USub)
        if isinstance(each.op, ast.Pow) and _is_name(each.left, step) and is_negative:
            return True
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
