"""P107 zero3-needs-reentrant"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import is_low_rank
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P107",
    name="zero3-needs-reentrant",
    severity="warning",
    message="an adapter under ZeRO-3 with `use_reentrant: false`: backward may fail with a CheckpointError",
    why="ZeRO-3 gathers a weight for the forward pass and lets it go again. The non-reentrant kind compares "
    "what it calculates again with what it saw first, and finds tensors of other shapes. TRL turns "
    "`use_reentrant` back to true here.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            'warn_qlora_zero3_w_use_reentrant: "may result in a CheckpointError about recomputed values".',
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/36027d8/trl/trainer/sft_trainer.py",
            '"PEFT + DeepSpeed ZeRO-3 requires reentrant checkpointing"; the value is forced to True.',
        ),
    ),
    fix=Fix("set `use_reentrant: true`, or use ZeRO-2"),
    bad=Example(
        "qlora.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: "
        "qlora\nload_in_4bit: true\nlora_r: 16\nlora_alpha: 16\nlora_target_linear: "
        "true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: "
        "false\ndeepspeed: deepspeed_configs/zero3_bf16.json\n",
    ),
    good=Example(
        "qlora.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: "
        "qlora\nload_in_4bit: true\nlora_r: 16\nlora_alpha: 16\nlora_target_linear: "
        "true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: "
        "true\ndeepspeed: deepspeed_configs/zero3_bf16.json\n",
    ),
    symptoms=(
        "CheckpointError",
        "Recomputed values have different metadata",
        "gradient checkpointing with ZeRO-3 fails",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where it is written, under stage 3."""
    kind = run.setting("use_reentrant")
    if kind is None or kind.value is not False or not kind.is_written or run.value("zero_stage") != 3:
        return
    if is_low_rank(run):
        yield RULE.at(kind)
