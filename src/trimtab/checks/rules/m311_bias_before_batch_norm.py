"""M311 bias-before-batch-norm"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from trimtab.checks.description import Description
from trimtab.checks.document import Call
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from torch import nn\nblock = nn.Sequential(\n    nn.Conv2d(3, 64, 3, padding=1{bias}),\n"
    "    nn.BatchNorm2d(64),\n    nn.ReLU(),\n)\n"
)

RULE = Rule(
    code="M311",
    name="bias-before-batch-norm",
    severity="note",
    message="the bias of {layer} is removed by the {norm} after it",
    why="A batch norm subtracts the mean of each channel, and with it whatever constant was added before; "
    "its own shift does the work. The bias costs memory, time and a term of weight decay, and its gradient "
    "is zero.",
    evidence=(
        Arithmetic("BN(x + b) = (x + b - mean(x) - b) / std(x) * g + s = BN(x): the bias cancels exactly."),
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "The tuning guide of PyTorch: disable bias for convolutions directly followed by a batch norm.",
        ),
    ),
    fix=Fix("write `bias=False` in {layer}"),
    bad=Example("model.py", _SCRIPT.format(bias="")),
    good=Example("model.py", _SCRIPT.format(bias=", bias=False")),
    aliases=("BN002",),
    tips=("S2-39",),
    symptoms=("a parameter gets no gradient",),
)
_LAYERS = {"Linear": 2, "Conv1d": 7, "Conv2d": 7, "Conv3d": 7, "ConvTranspose1d": 7, "ConvTranspose2d": 7}
"""Layers with a bias, and its position among their arguments."""
_MOST = 200
"""Sequences that are looked at in one file."""
_NORMS = frozenset({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for neighbours in one `nn.Sequential`, and for `self.bn(self.conv(x))`: nothing can come between."""
    yield from _attributes(run)
    sequences = (call for call in run.document.calls if call.name == "Sequential" and call.place.end_line)
    for sequence in islice(sequences, _MOST):
        for layer, norm in pairwise(_parts(sequence, run.document.calls)):
            if layer.name in _LAYERS and norm.name in _NORMS and _has_bias(layer):
                yield RULE.at(layer.place, layer=f"`{layer.name}`", norm=f"`{norm.name}`")


def _parts(sequence: Call, calls: Sequence[Call]) -> list[Call]:
    """The calls that are a sequence's arguments, in order; none where some argument is no call."""
    direct: list[Call] = []
    for call in calls:
        if call is sequence or not _holds(sequence.place, call.place):
            continue
        # Outer calls come before the calls inside them.
        if not direct or not _holds(direct[-1].place, call.place):
            direct.append(call)
    return direct if len(direct) == len(sequence.positional) and not sequence.has_rest else []


def _holds(outer: Place, inner: Place) -> bool:
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    return starts and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def _has_bias(layer: Call) -> bool:
    """Whether the default, which is a bias, holds."""
    index = _LAYERS[layer.name]
    if layer.has_rest or len(layer.positional) > index:
        return False
    return "bias" not in layer.arguments or layer.arguments["bias"].value is True


def _attributes(run: Description) -> Iterator[Diagnosis]:
    """A norm that is called with nothing but what a layer gives."""
    reported: set[int] = set()
    for event in flow_of(run.document).events:
        norm = event.value.of
        if (
            event.kind != "call"
            or norm is None
            or norm.made != "call"
            or norm.last not in _NORMS
            or not event.value.args
        ):
            continue
        before = event.value.args[0]
        layer = before.of if before.made == "call" and before.name == "__call__" else None
        if (
            layer is None
            or layer.made != "call"
            or layer.last not in _LAYERS
            or not layer.name.startswith("torch.nn.")
        ):
            continue
        bias = layer.argument(_LAYERS[layer.last], "bias")
        is_on = bias is None or bias.constant is True
        if is_on and not layer.has_rest and layer.place is not None and id(layer) not in reported:
            reported.add(id(layer))
            yield RULE.at(layer.place, layer=f"`{layer.last}`", norm=f"`{norm.last}`")
