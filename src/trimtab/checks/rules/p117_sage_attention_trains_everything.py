"""P117 sage-attention-trains-everything"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P117",
    name="sage-attention-trains-everything",
    severity="warning",
    message="SageAttention with {what}",
    why="SageAttention rounds queries and keys to 8 bits. It is made for inference; what its errors do to "
    "training depends on what is trained.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            '"SageAttention full finetuning has been observed to drop loss to 0."; without packing '
            '`pad_to_sequence_len` is recommended: "The loss has been observed to explode otherwise."',
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "fft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: optimi_adamw\nlearning_rate: 2e-5\nbf16: true\nsample_packing: "
        "true\nattn_implementation: sage\n",
    ),
    good=Example(
        "fft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: optimi_adamw\nlearning_rate: 2e-5\nbf16: true\nsample_packing: "
        "true\nattn_implementation: flash_attention_2\n",
    ),
    symptoms=("loss zero", "loss is 0.0", "diverged"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for Axolotl, in the two cases that it warns of."""
    kernel = run.setting("attention_kernel")
    if run.tool != "axolotl" or kernel is None or kernel.value != "sage":
        return
    padded = run.written("pad_to_sequence_len")
    if run.value("adapter") == "none":
        way = "take `attn_implementation: flash_attention_2`, or train an adapter"
        yield RULE.at(kernel, what="full training has been seen to drop the loss to 0", way=way)
    elif run.value("packing") is not True and not (padded is not None and padded.value is True):
        way = "set `pad_to_sequence_len: true`, or pack samples"
        yield RULE.at(kernel, what="sequences of different lengths has been seen to explode", way=way)
