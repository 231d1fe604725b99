"""M318 frozen-norms-of-random-backbone"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import DFineConfig, DFineForObjectDetection\n"
    "config = DFineConfig(num_labels=1{norms})\nmodel = DFineForObjectDetection(config)\n"
)

RULE = Rule(
    code="M318",
    name="frozen-norms-of-random-backbone",
    severity="warning",
    message="{config} freezes the batch norms of its backbone by default, and the backbone starts from "
    "random weights",
    why="Frozen norms use the statistics they were made with, which for a new backbone are mean 0 and "
    "variance 1: it has no normalisation at all, and trains slowly or not.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/d_fine/"
            "configuration_d_fine.py",
            "`freeze_backbone_batch_norms: bool = True`; the same in RT-DETR and RT-DETRv2.",
        ),
        Arithmetic("(x - 0) / sqrt(1 + eps) * 1 + 0 = x: a frozen norm that was never trained does nothing."),
    ),
    fix=Fix("write `freeze_backbone_batch_norms=False` in {config}, or load a pretrained model"),
    bad=Example("model.py", _SCRIPT.format(norms="")),
    good=Example("model.py", _SCRIPT.format(norms=", freeze_backbone_batch_norms=False")),
    symptoms=("mAP is almost zero", "loss falls slowly"),
)
_CONFIGS = {
    "DFineConfig": "DFineForObjectDetection",
    "RTDetrConfig": "RTDetrForObjectDetection",
    "RTDetrV2Config": "RTDetrV2ForObjectDetection",
}
_PRETRAINED = ("backbone", "use_pretrained_backbone", "use_timm_backbone", "freeze_backbone_batch_norms")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script builds the model from a configuration that it makes itself."""
    for config, model in _CONFIGS.items():
        built = [call for call in calls_of(run, model) if not call.has_rest]
        for call in calls_of(run, config) if built else ():
            if not call.has_rest and not any(name in call.arguments for name in _PRETRAINED):
                yield RULE.at(call.place, config=f"`{config}`")
