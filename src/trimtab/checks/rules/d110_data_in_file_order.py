"""D110 data-in-file-order"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

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
    yield from _unshuffled(flow_of(run.document))


_SORTED: Final = ("torchvision.datasets.ImageFolder", "torchvision.datasets.DatasetFolder")
"""Datasets that go through one class after the other."""


def _unshuffled(flow: Flow) -> Iterator[Diagnosis]:
    """A loader of torch's over a dataset of torchvision that a training loop reads in several epochs, without `shuffle`
    or a sampler."""
    for event in flow.named("DataLoader"):
        made, data = event.value, event.value.argument(0, "dataset")
        given = [
            made.argument(at, name) for at, name in ((2, "shuffle"), (3, "sampler"), (4, "batch_sampler"))
        ]
        if made.has_rest or data is None or not made.name.startswith("torch.utils.data."):
            continue
        is_off = given[0] is None or given[0].constant is False
        if not is_off or any(each is not None for each in given[1:]) or not _is_of_torchvision(data):
            continue
        if any(_goes_over(loop, made) for loop in training_loops(flow)):
            is_sorted = data.name in _SORTED
            order = "folder by folder" if is_sorted else "in the same batches in every epoch"
            fault = f"the training loader never shuffles `{data.last}`: the model sees it {order}"
            severity = "warning" if is_sorted else None
            yield RULE.at(event.place, severity=severity, fault=fault, fix="pass `shuffle=True`")
            return


def _is_of_torchvision(data: Value) -> bool:
    return data.made == "call" and data.name.startswith("torchvision.datasets.") and data.last != "FakeData"


def _goes_over(loop: Loop, loader: Value) -> bool:
    """Whether a loop goes over a loader, inside another loop, and steps."""
    at = next((i for i, block in enumerate(loop.backward.path) if block is loop.block), 0)
    around = [block for block in loop.backward.path[:at] if block.kind in ("for", "while")]
    over = walk(loop.block.value, most=6)
    return bool(around) and any(each is loader for each in over) and next(loop.steps(), None) is not None
