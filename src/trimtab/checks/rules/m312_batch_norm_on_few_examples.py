"""M312 batch-norm-on-few-examples"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_FEW = 8
_SCRIPT = (
    "from torch import nn\nfrom transformers import Trainer, TrainingArguments\n"
    "model = nn.Sequential(nn.Conv2d(3, 64, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU())\n"
    'args = TrainingArguments(output_dir="out", per_device_train_batch_size={size},\n'
    "                         gradient_accumulation_steps=16)\n"
)

RULE = Rule(
    code="M312",
    name="batch-norm-on-few-examples",
    severity="note",
    message="{norm} sees {size} examples at once; {accumulation} accumulated micro-batches do not make it "
    "see more",
    why="Accumulation gives the gradient of a large batch, but batch norm takes its means and variances from "
    "each micro-batch alone: they are noisy, and differ from the running averages that are used afterwards.",
    evidence=(
        Arithmetic(
            "The mean of n values has a standard error of s / sqrt(n): of 4 examples half of s, of 64 an "
            "eighth. For convolutions positions count as values too, so that this bites later."
        ),
    ),
    fix=Fix("use a larger micro-batch, `SyncBatchNorm` over devices, or group norm"),
    bad=Example("train.py", _SCRIPT.format(size=4)),
    good=Example("train.py", _SCRIPT.format(size=64)),
    aliases=("BN001",),
    tips=("S0-118", "S2-28"),
    symptoms=("good in training, bad in evaluation", "loss is noisy"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script shows the norm, the micro-batch and the accumulation."""
    size, accumulation = run.setting("micro_batch"), run.value("accumulation")
    norms = list(calls_of(run, "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"))
    if size is None or accumulation is None or not norms or any(calls_of(run, "convert_sync_batchnorm")):
        return
    if size.is_written and 0 < size.value < _FEW and accumulation > 1 and run.value("batch_unit") != "tokens":
        yield RULE.at(size, norm=f"`{norms[0].name}`", size=size.value, accumulation=accumulation)
