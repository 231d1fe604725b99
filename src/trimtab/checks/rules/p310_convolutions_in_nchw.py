"""P310 convolutions-in-nchw"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torchvision\nnet = torchvision.models.resnet50().cuda(){layout}\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x, y in loader:\n"
    '    with torch.autocast("cuda", dtype=torch.bfloat16):\n'
    "        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())\n"
    "    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="P310",
    name="convolutions-in-nchw",
    severity="note",
    message="`{model}` runs in 16 bits with channels before rows: tensor cores want the channels last",
    why="cuDNN's kernels for tensor cores read NHWC. In the layout that PyTorch has by default each convolution is "
    "transposed on the way in and out.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
            "'The following list of models has the full support of Channels last and showing 8%-35% performance gains "
            "on Volta devices': ResNet, MobileNet and others.",
        ),
        Arithmetic(
            "Two transposes read and write each activation once more, as much traffic as a pointwise layer has."
        ),
    ),
    fix=Fix(
        "move the model with `memory_format=torch.channels_last`, and the images too", safety="same training"
    ),
    bad=Example("train.py", _SCRIPT.format(layout="")),
    good=Example("train.py", _SCRIPT.format(layout=".to(memory_format=torch.channels_last)")),
    tips=("S2-36",),
    symptoms=("training is slow",),
)
_NETS = (
    "resnet",
    "resnext",
    "wide_resnet",
    "convnext",
    "efficientnet",
    "densenet",
    "mobilenet",
    "regnet",
    "vgg",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A convolutional network of torchvision or timm in a loop with autocast, and nowhere the other layout."""
    flow = flow_of(run.document)
    if "channels_last" in run.document.text or not training_loops(flow):
        return
    devices = [event.value.argument(0, "device_type") for event in flow.named("autocast")]
    if not any(device is not None and device.constant != "cpu" for device in devices):
        return
    for event in flow.events:
        value = event.value
        if event.kind != "call" or value.of is not None:
            continue
        name = value.last.lower() if value.name.startswith("torchvision.models.") else ""
        if value.name == "timm.create_model" and value.args and isinstance(value.args[0].constant, str):
            name = value.args[0].constant.lower()
        if name.startswith(_NETS) and "weights" not in name:
            yield RULE.at(event.place, model=name)
            return
