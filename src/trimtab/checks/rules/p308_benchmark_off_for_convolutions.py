"""P308 benchmark-off-for-convolutions"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torchvision import models, transforms\ntorch.backends.cudnn.benchmark = {on}\n"
    "crop = transforms.RandomResizedCrop(224)\nmodel = models.convnext_tiny().cuda()\n"
)

RULE = Rule(
    code="P308",
    name="benchmark-off-for-convolutions",
    severity="note",
    message="`cudnn.benchmark` {says}",
    why="cuDNN has several algorithms for a convolution, and only tries which is fastest where it is asked to. "
    "With one image "
    "size the trial is made once, and pays off in every step.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "'Enable cuDNN auto-tuner' for convolutional networks: torch.backends.cudnn.benchmark = True.",
        ),
        Arithmetic(
            "The search costs a few trials of each algorithm once a shape, and what it finds serves every later step."
        ),
    ),
    fix=Fix(
        "set `torch.backends.cudnn.benchmark = True` where images have one size, unless runs must be equal to the last "
        "bit"
    ),
    bad=Example("train.py", _SCRIPT.format(on=False)),
    good=Example("train.py", _SCRIPT.format(on=True)),
    tips=("S2-23",),
    symptoms=("training is slow",),
)
_NETS = (
    "resnet", "resnext", "wide_resnet", "convnext", "efficientnet", "densenet", "mobilenet", "regnet", "vgg",
    "inception",
)  # fmt: skip
_FIXED = ("RandomResizedCrop", "CenterCrop", "RandomCrop")


def check(run: Description) -> Iterator[Diagnosis]:
    """Off as written, with a model of torchvision and crops of one size, in a script that wants no exact repetition."""
    flow = flow_of(run.document)
    crops = [event.value.argument(0, "size") for event in flow.named(*_FIXED)]
    if not crops and not training_loops(flow):
        return
    if says(run.document, "deterministic", "manual_seed", "seed_everything", "set_seed"):
        return
    yield from _left_out(run)
    if not crops or not any(event.value.name.startswith("torchvision.models.") for event in flow.events):
        return
    for event in flow.sets("benchmark"):
        if (
            event.value.constant is False
            and event.subject is not None
            and event.subject.name == "torch.backends.cudnn"
        ):
            yield RULE.at(event.place, says="is switched off for convolutions over images of one size")
            return


def _left_out(run: Description) -> Iterator[Diagnosis]:
    """A convolutional network of torchvision or timm, moved to a GPU and trained in a loop of the script's own, and
    nowhere a word of the search."""
    flow = flow_of(run.document)
    if (
        not flow.is_whole
        or not training_loops(flow)
        or says(run.document, "benchmark", "compile(", "DataParallel")
    ):
        return
    if not any(_is_gpu(event.value.argument(0, "device")) for event in flow.named("to")) and not any(
        True for _ in flow.named("cuda")
    ):
        return
    for event in flow.events:
        value = event.value
        if event.kind != "call" or value.of is not None:
            continue
        name = value.last.lower() if value.name.startswith("torchvision.models.") else ""
        if value.name == "timm.create_model" and value.args and isinstance(value.args[0].constant, str):
            name = value.args[0].constant.lower()
        if name.startswith(_NETS) and "weights" not in name:
            yield RULE.at(event.place, says=f"is never turned on for the convolutions of `{name}`")
            return


def _is_gpu(device: Value | None) -> bool:
    return device is not None and str(device.constant).startswith("cuda")
