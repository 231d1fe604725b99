"""M320 image-transformer-on-few-images"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore, Paper
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments, ViTConfig, "
    'ViTForImageClassification\ndata = load_dataset("cifar10")\nmodel = {model}\n'
    'args = TrainingArguments(output_dir="out", learning_rate=1e-3, warmup_steps=100)\n'
    'Trainer(model=model, args=args, train_dataset=data["train"]).train()\n'
)

RULE = Rule(
    code="M320",
    name="image-transformer-on-few-images",
    severity="note",
    message="`{model}` starts from random weights and is trained on {data}, which is small for an image transformer",
    why="A vision transformer has to learn from data that pixels beside one another belong together, which a "
    "convolution has built in. Below about a million images it ends behind a convolutional network of its size.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2010.11929",
            "Dosovitskiy et al. 2020, section 4.3: trained on ImageNet alone, ViT stays behind ResNets of its size; "
            "with 14 to 300 million images it is ahead (cited from memory).",
            opened=False,
        ),
        Folklore("Image transformers that start from nothing on small sets end behind small ResNets."),
    ),
    fix=Fix("start from pretrained weights, or take a convolutional or hybrid model"),
    bad=Example("train.py", _SCRIPT.format(model="ViTForImageClassification(ViTConfig(num_labels=10))")),
    good=Example(
        "train.py",
        _SCRIPT.format(model='ViTForImageClassification.from_pretrained("google/vit-base-patch16-224")'),
    ),
    tips=("S3-11",),
    symptoms=("accuracy stays low", "over-fitted"),
)
_SMALL = r"(?i)cifar-?(?:100|10)?|(?:fashion_?)?mnist|svhn|flowers-?102|oxford.{0,4}pets?|beans|food-?101"
_FAMILIES = r"^(ViT|DeiT|Beit|Swin|Swinv2|ViTMAE)For\w*Classification$"
_OF_TORCHVISION = r"^(vit|swin)_\w+$"


def check(run: Description) -> Iterator[Diagnosis]:
    """Made from a configuration, or by torchvision or timm without weights, in a script that trains and names a data
    set of fewer than 100,000 images."""
    flow = flow_of(run.document)
    if not any(True for _ in flow.named("Trainer", "backward", "fit")):
        return
    for event in flow.events:
        if event.kind == "call" and event.value.of is None and (name := _untrained(event.value)):
            # Only now: to look through a long notebook for names of data sets takes longer than all other rules.
            data = re.search(_SMALL, run.document.text)
            if data is not None:
                yield RULE.at(event.place, model=name, data=data[0])
            return


def _untrained(made: Value) -> str:
    if made.name.startswith("transformers.") and re.match(_FAMILIES, made.last):
        return made.last
    weights = {"weights", "pretrained"} & made.keywords.keys()
    given = [made.keywords[name].constant for name in weights]
    is_empty = all(value is None or value is False for value in given)
    if made.name.startswith("torchvision.models.") and re.match(_OF_TORCHVISION, made.last):
        return made.last if is_empty and not made.has_rest else ""
    if made.name == "timm.create_model" and made.args and isinstance(made.args[0].constant, str):
        name = made.args[0].constant
        return name if name.startswith(("vit_", "deit", "swin")) and is_empty and not made.has_rest else ""
    return ""
