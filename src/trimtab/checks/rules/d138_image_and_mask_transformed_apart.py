"""D138 image-and-mask-transformed-apart"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.lightning import method_around
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="D138",
    name="image-and-mask-transformed-apart",
    severity="error",
    message="`{transform}` draws random parameters for `{one}` and new ones for `{other}`: the two no longer "
    "match",
    why="Each call of a random transform draws its own position, angle or flip. A mask that is cropped "
    "elsewhere than its image is a wrong label.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/vision/0.26/auto_examples/transforms/plot_transforms_e2e.html",
            "'torchvision.transforms.v2 enables jointly transforming images, videos, bounding boxes, and masks.'",
        ),
        Arithmetic("Two crops of 256 out of 512 rows and columns are the same one in 1 of 257 * 257 draws."),
    ),
    fix=Fix(
        "draw once for both: `get_params` and the functional form, or one call of `torchvision.transforms.v2` or "
        "albumentations with both"
    ),
    bad=Example(
        "train.py",
        "import torch\nfrom torchvision import transforms as T\nclass Roads(torch.utils.data.Dataset):\n"
        "    def __init__(self, pairs):\n        self.pairs = pairs\n"
        "        self.both = T.Compose([T.RandomCrop(256), T.ToTensor()])\n    def __getitem__(self, i):\n"
        "        image, mask = self.pairs[i]\n        return self.both(image), self.both(mask)\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom torchvision import transforms as T\nclass Roads(torch.utils.data.Dataset):\n"
        "    def __init__(self, pairs):\n        self.pairs = pairs\n"
        "        self.both = T.Compose([T.ToTensor()])\n    def __getitem__(self, i):\n"
        "        image, mask = self.pairs[i]\n        return self.both(image), self.both(mask)\n",
    ),
    symptoms=("segmentation does not learn", "masks do not match the images", "IoU stays low"),
)
_MASKS = ("mask", "seg", "target", "label", "gt", "annot", "depth", "trimap")


def check(run: Description) -> Iterator[Diagnosis]:
    """One chain of random transforms of torchvision that a `__getitem__` calls for an image and for its mask."""
    flow = flow_of(run.document)
    called: dict[int, tuple[Value, str]] = {}
    for event in flow.named("__call__"):
        chain, given = event.value.of, event.value.args
        if chain is None or len(given) != 1 or not method_around(event, "__getitem__") or not _draws(chain):
            continue
        name = given[0].label.rpartition(".")[2]
        before = called.get(id(chain))
        if before is not None and before[1] != name and name and any(word in name.lower() for word in _MASKS):
            yield RULE.at(event.place, transform=chain.label or "the transform", one=before[1], other=name)
            return
        if name and not any(word in name.lower() for word in _MASKS):
            called.setdefault(id(chain), (chain, name))


def _draws(chain: Value) -> bool:
    """Whether a chain of torchvision moves pixels at random."""
    if chain.made != "call" or not chain.name.startswith("torchvision.transforms."):
        return False
    return any(each.made == "call" and each.last in _MOVING for each in walk(chain, most=40))


_MOVING = frozenset(
    {
        "RandomCrop", "RandomResizedCrop", "RandomHorizontalFlip", "RandomVerticalFlip", "RandomRotation",
        "RandomAffine", "RandomPerspective", "ElasticTransform",
    }
)  # fmt: skip
