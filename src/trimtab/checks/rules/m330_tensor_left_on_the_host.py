"""M330 tensor-left-on-the-host"""

import ast
from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.modules import is_module_class
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nclass Positions(nn.Module):\n    def __init__(self, width):\n"
    "        super().__init__()\n        table = torch.zeros(512, width)\n        {keep}\n"
    "    def forward(self, x):\n        return x + self.table[: x.size(1)]\n"
    "model = nn.Sequential(nn.Embedding(100, 64), Positions(64), nn.Linear(64, 100)).cuda()\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M330",
    name="tensor-left-on-the-host",
    severity="error",
    message="`self.{name}` of `{owner}` is a plain tensor: it stays on the host when the model is moved, and is "
    "not in its "
    "`state_dict()`",
    why="A module's `to()` and `cuda()` move parameters and buffers. A tensor in a plain attribute stays where it "
    "was created: the first batch on a GPU fails, or the tensor is missing from checkpoints.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer",
            "'This is typically used to register a buffer that should not be considered a model parameter. [...] "
            "Buffers, by default, are persistent and will be saved alongside parameters.'",
        ),
    ),
    fix=Fix('call `self.register_buffer("{name}", ...)` in `__init__`', safety="same training"),
    bad=Example("train.py", _SCRIPT.format(keep="self.table = table")),
    good=Example("train.py", _SCRIPT.format(keep='self.register_buffer("table", table)')),
    symptoms=("Expected all tensors to be on the same device", "found at least two devices, cuda:0 and cpu"),
)
_MAKERS: Final = frozenset(
    {
        "zeros", "ones", "full", "arange", "linspace", "tensor", "randn", "rand", "eye", "tril", "triu", "exp", "sin",
        "cos", "cat", "stack", "outer", "FloatTensor", "Tensor", "from_numpy",
    }
)  # fmt: skip
_METHODS: Final = frozenset(
    {
        "unsqueeze",
        "transpose",
        "view",
        "reshape",
        "float",
        "long",
        "permute",
        "repeat",
        "expand",
        "squeeze",
        "bool",
    }
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A tensor of torch that `__init__` of a module keeps as it is, and that `forward` uses beside its input without
    moving it, in a script that moves models to a GPU."""
    flow = flow_of(run.document)
    if not says(run.document, ".cuda(", ".to(", "accelerator=", "prepare("):
        return
    for event in flow.each("set"):
        owner = event.subject.of if event.subject is not None and event.subject.made == "object" else None
        if owner is None or owner.node is None or not is_module_class(owner) or not _is_plain(event.value):
            continue
        if _is_made_first(event) and _is_used_as_it_is(owner.node, event.name):
            yield RULE.at(event.place, name=event.name, owner=owner.name)
            return


def _is_made_first(event: Event) -> bool:
    """Whether it is set in `__init__`, and in no branch there."""
    inner = event.path[-1] if event.path else None
    return (
        inner is not None
        and inner.kind == "function"
        and inner.value is not None
        and inner.value.name == "__init__"
    )


def _is_plain(value: Value) -> bool:
    """Whether a value is a tensor that torch makes on the host."""
    for _ in range(8):
        if (
            value.made == "call"
            and value.of is not None
            and value.of.made != "imported"
            and value.name in _METHODS
        ) or (value.made == "item" and value.of is not None):
            value = value.of
        elif value.made == "binary" and value.args:
            value = next((each for each in value.args if each.made == "call"), value.args[0])
            if value.made == "binary" or value.made != "call":
                return False
        else:
            break
    if value.made != "call" or value.last not in _MAKERS or value.name != f"torch.{value.last}":
        return False
    content = value.argument(0, "data")
    if value.last == "tensor" and (content is None or content.made not in ("list", "tuple")):
        return False  # perhaps of a single number, which operations take from the host
    return not any(
        "device" in each.keywords or each.name in ("to", "cuda", "Parameter") for each in walk(value, most=40)
    )


def _is_used_as_it_is(owner: ast.ClassDef, name: str) -> bool:
    """Whether a method beside `__init__` computes with it, and nothing in the class moves it or sets it again."""
    is_used = False
    for part in owner.body:
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and _is_moved(node, name):
                return False
            is_set = (
                isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load)
            )
            if is_set and part.name != "__init__":
                return False
            if part.name == "forward" and isinstance(node, ast.BinOp):
                is_used = is_used or any(_is_self(side, name) for side in (node.left, node.right))
    return is_used


def _is_self(node: ast.expr, name: str) -> bool:
    """`self.table`, whole or a slice of it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _is_moved(call: ast.Call, name: str) -> bool:
    """Whether the call moves the tensor, overrides how the module moves, or registers it."""
    if any(isinstance(each, ast.Constant) and each.value == name for each in call.args):
        return True
    is_move = isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda", "type_as", "_apply")
    return is_move and any(_is_self(each, name) for each in ast.walk(call) if isinstance(each, ast.expr))
