"""M319 attention-dropout-in-evaluation"""

from collections.abc import Iterator
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch.nn as nn\nimport torch.nn.functional as F\nclass Attention(nn.Module):\n"
    "    def __init__(self, dropout=0.1):\n        super().__init__()\n        self.dropout = dropout\n"
    "    def forward(self, q, k, v):\n"
    "        return F.scaled_dot_product_attention(q, k, v, dropout_p={dropout}, is_causal=True)\n"
)

RULE = Rule(
    code="M319",
    name="attention-dropout-in-evaluation",
    severity="warning",
    message="`dropout_p` does not depend on `self.training`: attention is dropped in evaluation as well",
    why="`scaled_dot_product_attention` is a function and knows no mode: it drops whenever `dropout_p` is above 0, "
    "whatever `model.eval()` says. Validation and generation are random, and worse than the model is.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
            "'This function always applies dropout according to the specified dropout_p argument. To disable "
            "dropout during "
            "evaluation, be sure to pass a value of 0.0 when the module that makes the function call is not in "
            "training "
            "mode'.",
        ),
        Maintainer(
            "https://github.com/karpathy/nanoGPT/pull/240",
            "The same bug fixed: `dropout_p=self.dropout if self.training else 0`.",
        ),
        Arithmetic(
            "With 0.1 a tenth of all attention weights is missing in each evaluation, others each time."
        ),
    ),
    fix=Fix("write `dropout_p=self.dropout if self.training else 0.0`"),
    bad=Example("attention.py", _SCRIPT.format(dropout="self.dropout")),
    good=Example("attention.py", _SCRIPT.format(dropout="self.dropout if self.training else 0.0")),
    symptoms=("results differ from run to run", "validation is worse than training", "generation is random"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a class of modules hands over a number of its own, with no test of the mode around the call."""
    for event in flow_of(run.document).named("scaled_dot_product_attention"):
        dropout = event.value.argument(4, "dropout_p")
        if dropout is None or not _is_kept_number(dropout, event) or _is_tested(event):
            continue
        yield RULE.at(event.place)


def _is_kept_number(dropout: Value, event: Event) -> bool:
    """`self.dropout` of a number, or `self.attn_dropout.p`."""
    owner = next((block.value for block in event.path if block.kind == "function"), None)
    if owner is None or not any(
        block.value is not None and block.value.name == "forward" for block in event.path
    ):
        return False
    if dropout.made == "attribute":
        return dropout.name == "p" and dropout.of is not None and dropout.of.last in ("Dropout", "dropout")
    if dropout.made == "parameter":
        return "dropout" in dropout.name and _is_held(dropout, event)
    if dropout.made == "constant":
        return type(dropout.constant) is float and 0 < dropout.constant < 1
    return False


def _is_held(dropout: Value, event: Event) -> bool:
    """Whether the number is one that the module was made with: an argument of `forward` may be 0 in evaluation."""
    functions = [block.value for block in event.path if block.kind == "function" and block.value is not None]
    names = {argument.arg for function in functions for argument in _arguments(function)}
    return dropout.name not in names


def _arguments(function: Value) -> list[Any]:
    arguments = getattr(function.node, "args", None)
    return [] if arguments is None else [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _is_tested(event: Event) -> bool:
    return any(
        block.kind in ("if", "else") and block.value is not None and _speaks_of_mode(block.value)
        for block in event.path
    )


def _speaks_of_mode(value: Value) -> bool:
    return any(each.name == "training" for each in walk(value))
