"""M323 sequence-axis-is-first"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nclass Classifier(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.embed = nn.Embedding(1000, 64)\n"
    "        layer = nn.TransformerEncoderLayer(64, 4{first})\n        self.encoder = nn.TransformerEncoder(layer, 2)\n"
    "        self.head = nn.Linear(64, 2)\n    def forward(self, ids):\n"
    "        hidden = self.encoder(self.embed(ids))\n        return self.head(hidden.mean(dim=1))\n"
    "optimizer = torch.optim.AdamW(Classifier().parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M323",
    name="sequence-axis-is-first",
    severity="error",
    message="`{module}` without `batch_first=True` treats the first axis as the sequence, but {read} treats it as the "
    "batch",
    why="The transformers and recurrent layers of torch.nn expect (sequence, batch, width) unless `batch_first=True`. "
    "Given (batch, sequence, width) they attend over the examples of a batch, at the same position of each: "
    "no shape is wrong, and every prediction depends on its neighbours in the batch.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html",
            "batch_first: 'If True, then the input and output tensors are provided as (batch, seq, feature). Default: "
            "False (seq, batch, feature).'",
        ),
        Maintainer(
            "https://github.com/pytorch/pytorch/issues/27968",
            "The example transposes its batch before `nn.MultiheadAttention` and back: `k = v = i.transpose(0, 1)`.",
        ),
    ),
    fix=Fix("pass `batch_first=True`, or transpose before and after"),
    bad=Example("train.py", _SCRIPT.replace("{first}", "")),
    good=Example("train.py", _SCRIPT.replace("{first}", ", batch_first=True")),
    symptoms=(
        "results depend on the batch size",
        "evaluation with another batch size is worse",
        "transformer learns nothing",
        "prediction changes with the other examples of the batch",
        "batch_first is missing",
    ),
)
_MODULES: Final = frozenset(
    {"TransformerEncoder", "TransformerDecoder", "Transformer", "MultiheadAttention", "LSTM", "GRU", "RNN"}
)
_POOLS: Final = frozenset({"mean", "sum", "max", "amax"})
_TURNS: Final = (
    "permute",
    "transpose(0",
    "transpose(1, 0",
    ".t()",
    "rearrange",
    "swapaxes",
    "einops",
    "pack_padded",
    "pad_sequence",
    "movedim",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A layer of torch's, and what the same function takes from its output: the first or last position along the second
    axis, or a mean over it. Scripts that turn axes round anywhere are left alone."""
    flow = flow_of(run.document)
    for event in flow.named("__call__"):
        module = root(event.value.of)
        if module is None or not _is_sequence_first(module):
            continue
        if says(run.document, *_TURNS):
            return
        function = next((block for block in reversed(event.path) if block.kind == "function"), None)
        read = _read(flow, event, function)
        if read:
            yield RULE.at(module.place or event.place, module=f"nn.{module.last}", read=read)
            return


def _is_sequence_first(module: Value) -> bool:
    if module.made != "call" or not module.name.startswith("torch.nn.") or module.last not in _MODULES:
        return False
    layer = module
    if module.last in ("TransformerEncoder", "TransformerDecoder"):
        given = module.argument(0, "encoder_layer") or module.argument(0, "decoder_layer")
        if given is None or given.made != "call" or not given.name.startswith("torch.nn."):
            return False
        layer = given
    return not layer.has_rest and "batch_first" not in layer.keywords and len(layer.args) < 5


def _read(flow: Flow, event: Event, function: Block | None) -> str:
    """How a later line of the function reads the output along its second axis; empty where it does not."""
    if function is None:
        return ""
    for later in flow.events:
        if later.index <= event.index or not later.within(function) or later.kind != "call":
            continue
        of = later.value.of
        if later.name in _POOLS and of is not None and _is_output(of, event.value):
            axis = later.value.argument(0, "dim")
            if axis is not None and axis.constant == 1:
                return f"`.{later.name}(dim=1)`"
        for given in later.value.args:
            for each in walk(given, most=6):
                if each.made == "item" and each.of is not None and _is_output(each.of, event.value):
                    position = _position(each)
                    if position is not None:
                        return f"`[:, {position}]`"
    return ""


def _is_output(value: Value, call: Value) -> bool:
    """The output, of recurrent layers and attention the first of what they give."""
    if value is call:
        return call.of is not None and (root(call.of) or call).last.startswith("Transformer")
    return value.made == "item" and value.of is call and bool(value.args) and value.args[0].constant == 0


def _position(item: Value) -> int | None:
    """The position that `hidden[:, 0]` or `hidden[:, -1, :]` takes along the second axis."""
    parts = item.args[0].args if item.args and item.args[0].made == "list" else ()
    if len(parts) < 2 or parts[0].made != "unknown" or parts[0].name:
        return None
    found = parts[1].constant
    return found if type(found) is int and found in (0, -1) else None
