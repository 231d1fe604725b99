"""K109 averaged-without-statistics"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nfrom torch.optim.swa_utils import AveragedModel{imported}\n"
    "model = nn.Sequential(nn.Conv2d(3, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU())\n"
    "averaged = AveragedModel(model)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "for images, labels in loader:\n    loss_of(model(images), labels).backward()\n    optimizer.step()\n"
    "    averaged.update_parameters(model)\n{update}"
)

RULE = Rule(
    code="K109",
    name="averaged-without-statistics",
    severity="warning",
    message="weights are averaged, but the running statistics of {norm} are not recomputed",
    why="The averaged network has other activations than any of those it was averaged from; with old means "
    "and variances it can be worse than any of them. Layer norms have no such statistics.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/optim/swa_utils.py",
            "`AveragedModel` leaves buffers out by default (`use_buffers=False`); `update_bn` computes the "
            "statistics of batch norms for an averaged model.",
        ),
    ),
    fix=Fix("call `torch.optim.swa_utils.update_bn(loader, averaged)` before it is used"),
    bad=Example("train.py", _SCRIPT.format(imported="", update="")),
    good=Example("train.py", _SCRIPT.format(imported=", update_bn", update="update_bn(loader, averaged)\n")),
    aliases=("AVG001",),
    tips=("S0-38", "S2-43"),
    symptoms=("averaged model is worse", "SWA fails"),
)


_CONVOLUTIONAL = (
    r"(wide_)?res(net|next)\d|densenet\d|mobilenet_|efficientnet_|regnet_|mnasnet|shufflenet_|inception_"
    r"|vgg\d+_bn"
)
"""Models of torchvision with batch norm."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script shows the averaging and the norm, and nowhere the update."""
    averaged = list(calls_of(run, "AveragedModel"))
    if not averaged:
        return
    norms = list(calls_of(run, "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"))
    norms += [
        call
        for call in run.document.calls
        if re.match(_CONVOLUTIONAL, call.name) and "models" in call.qualifier
    ]
    if not norms or any(calls_of(run, "update_bn")):
        return
    for call in averaged:
        if (
            literal(call, "use_buffers") is not True
            and not call.has_rest
            and "use_buffers" not in call.arguments
        ):
            yield RULE.at(call.place, norm=norms[0].name)
