"""D139 normalised-in-training-only"""

import re
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="D139",
    name="normalised-in-training-only",
    severity="error",
    message="`{one}` normalises images and `{other}` does not: the model sees other values after training",
    why="`Normalize` shifts and scales each channel. A model that was trained on values around 0 gets "
    "values between 0 and 1, and scores far below what it can.",
    evidence=(
        Arithmetic(
            "With mean 0.47 and standard deviation 0.25, white is 2.1 in training and 1.0 afterwards, black -1.9 and 0."
        ),
    ),
    fix=Fix("normalise in both with the same numbers"),
    bad=Example(
        "train.py",
        "import torch\nfrom torchvision import datasets, transforms as T\n"
        "train_transform = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])\n"
        "test_transform = T.Compose([T.ToTensor()])\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom torchvision import datasets, transforms as T\n"
        "train_transform = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])\n"
        "test_transform = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])\n",
    ),
    symptoms=("validation accuracy is near chance", "good in training, bad in use"),
)
_TRAINING = ("train", "trn")
_USE = ("val", "test", "eval", "infer", "pred")
_TARGETS = ("mask", "label", "target")
_CHAINS = ("torchvision.transforms.", "albumentations.")


def check(run: Description) -> Iterator[Diagnosis]:
    """Two chains of one library, by their names for training and for use, both written out, of which one normalises."""
    flow = flow_of(run.document)
    if says(run.document, "mean)", "std)", "normalize(", "/ 255", "/255"):
        return
    chains = [
        event for event in flow.named("Compose") if event.value.name.startswith(_CHAINS) and event.value.label
    ]
    for one in chains:
        for other in chains:
            if (
                _are_a_pair(one.value.label, other.value.label)
                and _is_written(one.value)
                and _is_written(other.value)
            ):
                first, second = _normalises(one.value), _normalises(other.value)
                if first != second:
                    with_it, without = (one, other) if first else (other, one)
                    yield RULE.at(without.place, one=with_it.value.label, other=without.value.label)
                return


def _are_a_pair(one: str, other: str) -> bool:
    """Whether two names are the same but for a word for training in the first and one for use in the second, and not of
    masks or labels, which are not normalised."""
    words, others = ([*filter(None, re.split(r"[\W_]+", name.lower()))] for name in (one, other))
    differ = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    return (
        len(words) == len(others)
        and len(differ) == 1
        and differ[0][0].startswith(_TRAINING)
        and differ[0][1].startswith(_USE)
        and not any(word.startswith(_TARGETS) for word in words)
    )


def _is_written(chain: Value) -> bool:
    """Whether every step of a chain is a call that is written in its list."""
    steps = chain.argument(0, "transforms")
    return (
        steps is not None
        and steps.made == "list"
        and all(
            each.made == "call" and each.name.startswith(_CHAINS) and each.last != "Lambda"
            for each in steps.args
        )
        and any(each.last in ("ToTensor", "ToTensorV2", "ToDtype", "ToImage") for each in steps.args)
    )


def _normalises(chain: Value) -> bool:
    return any(each.made == "call" and each.last == "Normalize" for each in walk(chain, most=60))
