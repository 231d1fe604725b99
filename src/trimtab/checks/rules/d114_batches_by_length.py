"""D114 batches-by-length"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "adapter: lora\nlora_r: 16\nlora_alpha: 32\nlearning_rate: 0.0002\ngroup_by_length: {value}\ndatasets:\n"
    "  - path: data.jsonl\n    type: alpaca\n"
)

RULE = Rule(
    code="D114",
    name="batches-by-length",
    severity="note",
    message="examples of similar length share a batch: the logged loss will swing, and a resumed run is not "
    "the same run",
    why="It saves padding, and that is worth having. But steps of short and of long examples have different "
    "losses, so that the curve says little; and the sampler of the Trainer has no seed of its own, so that "
    "a resumed run draws another order than the one it left. Packing saves the padding without either.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/training.py",
            "'training loss may have an oscillating pattern with this enabled'",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "`LengthGroupedSampler` is made without a generator for training.",
        ),
    ),
    fix=Fix("keep it if padding is the larger evil; else pack the sequences"),
    bad=Example("axolotl.yaml", _YAML.format(value="true")),
    good=Example("axolotl.yaml", _YAML.format(value="false")),
    aliases=("TT701",),
    tips=("S1-03",),
    symptoms=("loss oscillates", "worse after resume", "loss jumps after resume"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a file asks the Trainer for it."""
    grouped = run.setting("group_by_length")
    if grouped is not None and grouped.is_written and grouped.value:
        yield RULE.at(grouped)
