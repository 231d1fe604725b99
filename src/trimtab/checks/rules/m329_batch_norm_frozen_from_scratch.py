"""M329 batch-norm-frozen-from-scratch"""

from collections.abc import Iterator

from trimtab.checks.code_text import may_say, says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import calls_of, literal, own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.training_script import trains

_FAMILIES = ("DFine", "RTDetr", "RTDetrV2", "Deimv2")
_HEADS = tuple(f"{family}ForObjectDetection" for family in _FAMILIES)
_CONFIGS = tuple(f"{family}Config" for family in _FAMILIES)
_KEY = "freeze_backbone_batch_norms"
_SCRIPT = (
    "from transformers import DFineConfig, DFineForObjectDetection, Trainer, TrainingArguments\n"
    "model = DFineForObjectDetection(DFineConfig(num_labels=1{setting}))\n"
    'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)\n'
    "trainer = Trainer(model=model, args=args)\n"
)

RULE = Rule(
    code="M329",
    name="batch-norm-frozen-from-scratch",
    severity="warning",
    message="{model} begins with random weights, and its batch norms are frozen{by}",
    why="A frozen batch norm normalizes by stored statistics, which only a trained backbone has. With those of a new "
    "module it passes its input on unchanged, so that the backbone has no normalization: the loss falls, and the "
    "detector finds next to nothing.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/d_fine/configuration_d_fine.py",
            "`freeze_backbone_batch_norms` is True by default, whether or not the backbone is pretrained. The same "
            "holds for RT-DETR, RT-DETRv2 and DEIMv2.",
        ),
        Arithmetic(
            "A new module stores mean 0, variance 1, weight 1 and bias 0: frozen, it computes x / sqrt(1 + 1e-5), "
            "which is x to within 5e-6."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(setting="")),
    good=Example("train.py", _SCRIPT.format(setting=", freeze_backbone_batch_norms=False")),
    symptoms=("mAP is almost zero", "training loss is good but detection is bad"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for a detection recipe, and for a script that trains a detector made from a configuration."""
    written = own(run, "model.batch_norm") if run.tool == "trimtab" else None
    if written is not None and written.value == "frozen" and run.value("from_scratch") is True:
        yield RULE.at(written, model="the detector", by="", fix="leave `model.batch_norm` out")
    if run.document.syntax != "python" or not may_say(run.document, *_HEADS) or not trains(run):
        return
    if says(run.document, "load_state_dict", "use_pretrained_backbone=True"):
        return
    configs = [literal(call, _KEY) for call in calls_of(run, *_CONFIGS)]
    if says(run.document, _KEY) and True not in configs:
        return
    for call in calls_of(run, *_HEADS):
        by = "" if True in configs else " by default"
        yield RULE.at(call.place, model=call.name, by=by, fix=f"set `{_KEY}=False`")
