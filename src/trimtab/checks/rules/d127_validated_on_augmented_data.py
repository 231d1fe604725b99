"""D127 validated-on-augmented-data"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torchvision import datasets, transforms\n"
    "train_transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])\n"
    "test_transform = transforms.Compose([transforms.Resize((224, 224)), transforms.ToTensor()])\n"
    "train = datasets.CIFAR10('data', train=True, transform=train_transform)\n"
    "test = datasets.CIFAR10('data', train=False, transform={which}_transform)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="D127",
    name="validated-on-augmented-data",
    severity="warning",
    message="the {split} data go through `{transform}`, as the training data do: scores are noisy and biased",
    why="Random crops and erasing regularize training. In evaluation they can remove the object and make two "
    "evaluations of one model differ.",
    evidence=(
        Arithmetic(
            "RandomResizedCrop keeps 8% to 100% of the area by default: what it cuts away is not scored."
        ),
    ),
    fix=Fix("give the {split} data a transform of their own, without anything random"),
    bad=Example("train.py", _SCRIPT.replace("{which}", "train")),
    good=Example("train.py", _SCRIPT.replace("{which}", "test")),
    symptoms=(
        "validation accuracy is below training accuracy",
        "evaluation is not deterministic",
        "validation accuracy is noisy",
    ),
)
_OTHERS: Final = frozenset({"ColorJitter", "TrivialAugmentWide", "AutoAugment", "RandAugment", "AugMix"})
_HELD: Final = ("val", "valid", "validation", "test", "eval", "dev")


def check(run: Description) -> Iterator[Diagnosis]:
    """A dataset of torchvision for evaluation, by its split, flag or folder, with a transform that draws at random and
    that the training set has too."""
    flow = flow_of(run.document)
    sets = [
        event.value
        for event in flow.events
        if event.kind == "call"
        and event.value.name.startswith("torchvision.datasets.")
        and not event.value.has_rest
    ]
    whole = _divided(flow, sets)
    drawn = (
        _random(whole.keywords["transform"]) if whole is not None and "transform" in whole.keywords else ""
    )
    if whole is not None and drawn and whole.place is not None:
        yield RULE.at(whole.place, split="validation", transform=drawn)
        return
    trained = [each.keywords.get("transform") for each in sets if not _split(each)]
    for each in sets:
        split, transform = _split(each), each.keywords.get("transform")
        if not split or transform is None or each.place is None:
            continue
        name = _random(transform)
        if name and any(transform is other for other in trained):
            yield RULE.at(each.place, split=split, transform=name)
            return


def _divided(flow: Flow, sets: list[Value]) -> Value | None:
    """A dataset with a random transform that `random_split` divides, of which a loader by a held-out name gets a part
    that is read without gradients."""
    for event in flow.named("random_split"):
        whole = event.value.argument(0, "dataset")
        if (
            whole is None
            or not any(each is whole for each in sets)
            or not event.value.name.startswith("torch.")
        ):
            continue
        if any(each.name == "transform" for each in flow.sets("transform")):
            continue
        for loader in flow.named("DataLoader"):
            part = loader.value.argument(0, "dataset")
            is_part = part is not None and part.made == "item" and part.of is event.value
            if is_part and any(word in part.label.lower() for word in _HELD):  # type: ignore[union-attr]
                return whole
    return None


def _split(dataset: Value) -> str:
    """What a set is for evaluation: `test`, `val`; empty for a training set."""
    flag = dataset.keywords.get("train") or (dataset.args[1] if len(dataset.args) > 1 else None)
    if flag is not None and flag.constant is False:
        return "test"
    given = dataset.keywords.get("split")
    if given is not None and isinstance(given.constant, str):
        return given.constant if given.constant in _HELD else ""
    root = dataset.argument(0, "root")
    for each in walk(root, most=12):
        text = each.constant if isinstance(each.constant, str) else ""
        last = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if last in _HELD:
            return last
    return ""


def _random(transform: Value) -> str:
    """A step of a transform that draws at random and changes what is seen; a flip leaves all of it."""
    for each in walk(transform, most=40):
        if each.made == "call" and each.name.startswith("torchvision.transforms."):
            is_flip = each.last in (
                "RandomHorizontalFlip",
                "RandomVerticalFlip",
                "RandomApply",
                "RandomChoice",
            )
            if (each.last.startswith("Random") and not is_flip) or each.last in _OTHERS:
                return each.last
    return ""
