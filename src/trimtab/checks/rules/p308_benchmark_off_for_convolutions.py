"""P308 benchmark-off-for-convolutions"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torchvision import models, transforms\ntorch.backends.cudnn.benchmark = {on}\n"
    "crop = transforms.RandomResizedCrop(224)\nmodel = models.convnext_tiny().cuda()\n"
)

RULE = Rule(
    code="P308",
    name="benchmark-off-for-convolutions",
    severity="note",
    message="`cudnn.benchmark` is switched off for convolutions over images of one size",
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
    fix=Fix("set `torch.backends.cudnn.benchmark = True`, unless runs must be equal to the last bit"),
    bad=Example("train.py", _SCRIPT.format(on=False)),
    good=Example("train.py", _SCRIPT.format(on=True)),
    tips=("S2-23",),
    symptoms=("training is slow",),
)
_FIXED = ("RandomResizedCrop", "CenterCrop", "RandomCrop")


def check(run: Description) -> Iterator[Diagnosis]:
    """Off as written, with a model of torchvision and crops of one size, in a script that wants no exact repetition."""
    flow = flow_of(run.document)
    if says(run.document, "deterministic", "manual_seed", "seed_everything", "set_seed"):
        return
    crops = [event.value.argument(0, "size") for event in flow.named(*_FIXED)]
    if not crops or not any(event.value.name.startswith("torchvision.models.") for event in flow.events):
        return
    for event in flow.sets("benchmark"):
        if (
            event.value.constant is False
            and event.subject is not None
            and event.subject.name == "torch.backends.cudnn"
        ):
            yield RULE.at(event.place)
            return
