"""S174 rate-multiplied-twice"""

import ast
from collections.abc import Iterator
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S174",
    name="rate-multiplied-twice",
    severity="error",
    message="the function of LambdaLR returns a learning rate, and LambdaLR multiplies the optimizer's by it: "
    "{peak}",
    why="`lr_lambda` returns a factor for the optimizer's initial learning rate. A function that returns "
    "the learning rate itself squares it.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html",
            "'The learning rate of each parameter group is set to the initial lr times a given function.'",
        ),
        Arithmetic("3e-4 * 3e-4 = 9e-8."),
    ),
    fix=Fix("return a factor between 0 and 1, or make the optimizer with `lr=1.0`"),
    bad=Example(
        "train.py",
        "import torch\nfrom net import Net\nLR = 3e-4\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=LR)\n"
        "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: LR * min(1.0, (step + 1) "
        "/ 500))\nfor x, y in loader:\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n"
        "    schedule.step()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom net import Net\nLR = 3e-4\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=LR)\n"
        "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / "
        "500))\nfor x, y in loader:\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n"
        "    schedule.step()\n",
    ),
    symptoms=("learning rate is far too small", "loss flat", "model learns nothing"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Every product that the function gives back has the name that the optimizer has its rate from."""
    for event in flow_of(run.document).named("LambdaLR"):
        given, optimizer = event.value.argument(1, "lr_lambda"), event.value.argument(0, "optimizer")
        node: Any = given.node if given is not None else None
        rate = optimizer.argument(1, "lr") if optimizer is not None and optimizer.made == "call" else None
        if rate is None or rate.constant == 1 or not isinstance(node, ast.Lambda | ast.FunctionDef):
            continue
        name = (rate.label or rate.name).rpartition(".")[2]
        results = (
            [node.body]
            if isinstance(node, ast.Lambda)
            else [
                each.value
                for each in ast.walk(node)
                if isinstance(each, ast.Return) and each.value is not None
            ]
        )
        if name and results and all(_has_factor(each, name) for each in results):
            number = rate.constant if isinstance(rate.constant, float) else None
            peak = f"{number:g} becomes {number * number:g}" if number else "its square"
            yield RULE.at(event.place, peak=peak)
            return


def _has_factor(node: ast.expr, name: str) -> bool:
    """Whether an expression is a product or quotient of something by this name, and the name is no divisor."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _has_factor(node.left, name) or _has_factor(node.right, name)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _has_factor(node.left, name)
    last = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return last == name
