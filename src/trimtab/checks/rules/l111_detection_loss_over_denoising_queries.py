"""L111 detection-loss-over-denoising-queries"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_MENDED = (5, 18)
_HEADS = ("DFineForObjectDetection", "RTDetrForObjectDetection", "RTDetrV2ForObjectDetection")
_SCRIPT = (
    "from transformers import DFineForObjectDetection, Trainer, TrainingArguments\n"
    'model = DFineForObjectDetection.from_pretrained("ustc-community/dfine-small-coco")\n'
    'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)\n'
    "trainer = Trainer(model=model, args=args)\n"
)

RULE = Rule(
    code="L111",
    name="detection-loss-over-denoising-queries",
    severity="warning",
    message="before transformers 5.18 the main loss of {model} also covers the denoising queries (here: "
    "{version})",
    why="The matcher then pairs true boxes with queries that were made from those very boxes, and the "
    "queries that are used at inference learn little. Training losses look good, detection is poor.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/pull/48528",
            "'Fix D-FINE / RT-DETR main loss being computed over the denoising queries', merged in September "
            "2026; the loss of 5.17.0 lacks the change, that of 5.18.0 has it.",
        ),
    ),
    fix=Fix("install transformers 5.18 or newer, or set `num_denoising: 0` in the model's config"),
    bad=Example("train.py", _SCRIPT, versions="transformers=5.16.0"),
    good=Example("train.py", _SCRIPT, versions="transformers=5.24.0"),
    symptoms=("mAP is almost zero", "training loss is good but detection is bad"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in a script that trains one of the three heads with an older release."""
    version = run.version("transformers")
    if (
        version is None
        or version >= _MENDED
        or not any(calls_of(run, "Trainer", "TrainingArguments", "backward"))
    ):
        return
    for call in calls_of(run, "from_pretrained", *_HEADS):
        head = call.name if call.name in _HEADS else call.qualifier.rpartition(".")[2]
        if head in _HEADS:
            yield RULE.at(call.place, model=head, version=".".join(map(str, version)))
