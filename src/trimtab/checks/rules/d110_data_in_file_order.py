"""D110 data-in-file-order"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

_YAML = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "adapter: lora\nlora_r: 16\nlora_alpha: 32\nlearning_rate: 0.0002\nshuffle_merged_datasets: {value}\n"
    "datasets:\n  - path: data.jsonl\n    type: alpaca\n"
)
_OFF: dict[str, tuple[object, ...]] = {
    "shuffle_merged_datasets": (False,),
    "disable_shuffling": (True,),
    "train_sampling_strategy": ("sequential",),
}

RULE = Rule(
    code="D110",
    name="data-in-file-order",
    severity="note",
    message="{fault}",
    why="Right for a curriculum that was made on purpose. Else, where a file is sorted by source, topic or "
    "length, each stretch of steps sees one kind only: the loss moves in steps, and what came last is "
    "remembered best.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            "`shuffle_merged_datasets`: if false, datasets 'will keep their original order in `datasets`'; "
            "true is the default.",
        ),
        Arithmetic(
            "A gradient of examples of one kind is an estimate for that kind alone, not for the mixture."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("axolotl.yaml", _YAML.format(value="false")),
    good=Example("axolotl.yaml", _YAML.format(value="true")),
    symptoms=(
        "loss moves in steps",
        "forgets what came first",
        "training data is not shuffled",
        "model predicts only the last class",
        "accuracy drops to chance because classes come one after another",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a file switches shuffling off, and where a training loop goes over a loader that never shuffles."""
    for key, values in _OFF.items():
        setting = own(run, key)
        if setting is not None and any(
            type(setting.value) is type(off) and setting.value == off for off in values
        ):
            value = str(setting.value).lower()
            fault = f"`{setting.key}: {value}` trains on the examples in the order of the file"
            yield RULE.at(setting, fault=fault, fix=f"remove `{setting.key}`, unless the order is meant")
    flow = flow_of(run.document)
    for event in flow.named("DataLoader"):
        found = _unshuffled(run, flow, event)
        if found is not None:
            fault, severity = found
            yield RULE.at(event.place, severity=severity, fault=fault, fix="pass `shuffle=True`")
            return


_SORTED: Final = ("torchvision.datasets.ImageFolder", "torchvision.datasets.DatasetFolder")
"""Datasets that go through one class after the other."""
_ORDERING: Final = (
    ".shuffle(", "permutation(", "randperm(", "RandomSampler", "random.sample", "IterableDataset", "shuffle=shuffle",
    "streaming", "datapipes",
)  # fmt: skip
"""Words of scripts that may put the examples into an order themselves, or have no order to change."""


def _unshuffled(run: Description, flow: Flow, event: Event) -> tuple[str, Severity | None] | None:
    """What is wrong with a loader of torch's that a training loop reads in several epochs, or that Lightning trains on,
    without `shuffle` or a sampler; None where it is right or its data may be in any order already."""
    made, data = event.value, event.value.argument(0, "dataset")
    given = [made.argument(at, name) for at, name in ((2, "shuffle"), (3, "sampler"), (4, "batch_sampler"))]
    if made.has_rest or data is None or not made.name.startswith(("torch.utils.data.", "torch_geometric.")):
        return None
    is_off = given[0] is None or given[0].constant is False
    if not is_off or any(each is not None and not _may_be_none(each) for each in given[1:]):
        return None
    is_known = _is_of_torchvision(data)
    if not is_known and (says(run.document, *_ORDERING) or not _has_order(run, flow, data, made)):
        return None
    if not any(_goes_over(loop, made) for loop in training_loops(flow)) and not _is_lightning_dataloader(
        event
    ):
        return None
    name = data.last if is_known else data.label or "the data set"
    is_sorted = data.name in _SORTED
    order = "folder by folder" if is_sorted else "in the same batches in every epoch"
    fault = f"the training loader never shuffles `{name}`: the model sees it {order}"
    return fault, "warning" if is_sorted else None


_ORDERED: Final = ("load_dataset", "TensorDataset", "Subset", "random_split")


def _may_be_none(sampler: Value) -> bool:
    """Whether one way leads to no sampler: `DistributedSampler(data) if distributed else None`."""
    return any(each.made == "constant" and each.constant is None for each in options(sampler))


def _is_of_torchvision(data: Value) -> bool:
    return data.made == "call" and data.name.startswith("torchvision.datasets.") and data.last != "FakeData"


def _has_order(run: Description, flow: Flow, data: Value, loader: Value) -> bool:
    """Whether a data set is one whose examples have numbers, so that its order is that of the file: a class of the
    script with `__getitem__`, a split of `load_dataset`, or something of which a script takes the length."""
    for each in walk(data, most=8):
        if each.made == "object" and each.of is not None and "__getitem__" in getattr(each.of, "fields", {}):
            return True
        is_split = each.made == "item" and bool(each.args) and each.args[0].constant == "train"
        if (each.made == "call" and each.last in _ORDERED) or (
            is_split and "datasets" in run.document.imports
        ):
            return True
    return any(each is data or each is loader for event in flow.named("len") for each in event.value.args)


def _is_lightning_dataloader(event: Event) -> bool:
    """Whether `train_dataloader` of a LightningModule or LightningDataModule makes it."""
    return any(
        block.kind == "function" and block.value is not None and block.value.name == "train_dataloader"
        for block in event.path
    )


def _goes_over(loop: Loop, loader: Value) -> bool:
    """Whether a loop goes over a loader, inside another loop or in a function that is told its epoch, and steps."""
    at = next((i for i, block in enumerate(loop.backward.path) if block is loop.block), 0)
    around = loop.backward.path[:at]
    is_repeated = any(block.kind in ("for", "while") for block in around) or any(
        "epoch" in (each.arg if hasattr(each, "arg") else "")
        for block in around
        if block.kind == "function" and block.value is not None and block.value.node is not None
        for each in block.value.node.args.args
    )
    over = walk(loop.block.value, most=6)
    return is_repeated and any(each is loader for each in over) and next(loop.steps(), None) is not None
