"""P305 no-workers-for-heavy-transforms"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader\nfrom torchvision import datasets, models, transforms\n"
    'train = datasets.ImageFolder("train", transforms.Compose([transforms.RandomResizedCrop(224)]))\n'
    "loader = DataLoader(train, batch_size=256, shuffle=True, num_workers={workers})\nmodel = "
    "models.resnet50().cuda()\n"
)

RULE = Rule(
    code="P305",
    name="no-workers-for-heavy-transforms",
    severity="note",
    message="images are decoded and augmented in the training process (`num_workers=0`), and the GPU waits for it",
    why="Without workers the loader makes each batch when it is asked for, between two steps. Decoding and "
    "cropping a batch of "
    "large images takes longer than the step itself.",
    evidence=(
        Arithmetic("256 JPEGs at 5 ms each are 1.3 s a batch in one process; a ResNet-50 step takes 0.1 s."),
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "'Setting num_workers > 0 enables asynchronous data loading and overlap between the training and data "
            "loading'.",
        ),
    ),
    fix=Fix(
        "set `num_workers` to the cores of the machine, with `persistent_workers=True`",
        safety="same training",
    ),
    bad=Example("train.py", _SCRIPT.format(workers=0)),
    good=Example("train.py", _SCRIPT.format(workers=12)),
    symptoms=(
        "GPU utilisation is low",
        "training is slow",
        "GPU utilization goes up and down",
        "one CPU core is at 100 percent and the GPU waits",
    ),
)
_HEAVY = frozenset(
    {"RandomResizedCrop", "RandAugment", "TrivialAugmentWide", "AutoAugment", "ColorJitter", "AugMix"}
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A written 0 over a folder of images with random crops or colours, on a GPU."""
    flow = flow_of(run.document)
    if not any(True for _ in flow.named("cuda")) and '"cuda' not in run.document.text:
        return
    for event in flow.named("DataLoader"):
        workers = event.value.argument(5, "num_workers")
        if workers is None or type(workers.constant) is not int or workers.constant:
            continue
        parts = list(walk(event.value.argument(0, "dataset"), most=40))
        if any(part.last == "ImageFolder" for part in parts) and any(part.last in _HEAVY for part in parts):
            yield RULE.at(event.place)
