"""M324 positions-along-the-batch"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nclass Positions(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.register_buffer('pe', torch.zeros(1, 5000, 64))\n"
    "    def forward(self, x):\n        return x + self.pe[{cut}]\n"
    "embed, positions = nn.Embedding(1000, 64), Positions()\n"
    "encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2)\n"
    "optimizer = torch.optim.AdamW(encoder.parameters(), lr=3e-4)\nfor ids in loader:\n"
    "    encoder(positions(embed(ids))).sum().backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="M324",
    name="positions-along-the-batch",
    severity="error",
    message="positions are added along the first axis, which is the batch of a module with `batch_first=True`",
    why="The table of positions is cut to the length of the first axis, as for (sequence, batch, width). In a "
    "batch-first model each example then gets the position of its index in the batch, the same at all its tokens: the "
    "model knows no order, and what it knows depends on the neighbours.",
    evidence=(
        Arithmetic(
            "`pe[: x.size(0)]` of a table (length, 1, width) has one row for each index of the first axis of x."
        ),
        Maintainer(
            "https://docs.pytorch.org/tutorials/beginner/transformer_tutorial.html",
            "The PositionalEncoding that most scripts copy expects x as (seq_len, batch_size, embedding_dim).",
            opened=False,
        ),
    ),
    fix=Fix("cut along the second axis, of a table (1, length, width): `pe[:, : x.size(1)]`"),
    bad=Example("train.py", _SCRIPT.replace("{cut}", ": x.size(0)")),
    good=Example("train.py", _SCRIPT.replace("{cut}", ":, : x.size(1)")),
    symptoms=("transformer ignores word order", "results depend on the batch size"),
)
_MODULES: Final = frozenset({"TransformerEncoder", "TransformerDecoder", "Transformer", "MultiheadAttention"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A module of the script that adds rows cut to the first axis, and whose output a batch-first module is given."""
    if not says(run.document, "batch_first"):
        return
    flow = flow_of(run.document)
    for event in flow.named("__call__"):
        returned = event.value.fields.get("<returned>")
        if returned is not None and _adds_by_first_axis(returned) and _is_batch_first_next(flow, event):
            yield RULE.at(event.place)
            return


def _adds_by_first_axis(value: Value) -> bool:
    for each in walk(value, most=30):
        if each.made == "binary" and each.name == "+" and any(_is_cut(part) for part in each.args):
            return True
    return False


def _is_cut(value: Value) -> bool:
    """Whether it is `pe[: x.size(0)]`, cut along the first axis to the first size of something."""
    while (
        value.made == "call"
        and value.name in ("detach", "to", "clone", "requires_grad_")
        and value.of is not None
    ):
        value = value.of
    if value.made != "item" or not value.args:
        return False
    index = value.args[0]
    first = index.args[0] if index.made == "list" and index.args else index
    return first.made == "unknown" and any(_is_first_size(each) for each in first.args)


def _is_first_size(value: Value) -> bool:
    if value.made == "call" and value.name == "size":
        return bool(value.args) and value.args[0].constant == 0
    is_shape = value.made == "item" and value.of is not None and value.of.name == "shape"
    return is_shape and bool(value.args) and value.args[0].constant == 0


def _is_batch_first_next(flow: Flow, event: Event) -> bool:
    for later in flow.named("__call__"):
        module = root(later.value.of)
        given = later.value.args[0] if later.value.args else None
        if (
            later.index <= event.index
            or module is None
            or module.made != "call"
            or module.last not in _MODULES
        ):
            continue
        layer = module.args[0] if module.args and module.args[0].made == "call" else module
        flag = layer.keywords.get("batch_first") or module.keywords.get("batch_first")
        if (
            flag is not None
            and flag.constant is True
            and any(each is event.value for each in walk(given, most=20))
        ):
            return True
    return False
