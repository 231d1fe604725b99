"""S108 lora-rate-low"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY

RULE = Rule(
    code="S108",
    name="lora-rate-low",
    severity="note",
    message="LoRA trains at {rate:g}, a usual rate for full training{default}",
    why="B starts at zero and only a small product of two matrices is trained, so LoRA wants about ten times "
    "the rate of full training. At a full-training rate it looks as if LoRA could not learn the task. "
    "Preference, reward and reinforcement learning, which use lower rates, are left out.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/trl/blob/main/docs/source/lora_without_regret.md",
            "TRL's reproduction of Schulman et al. 2025 uses 1.0e-5 for LoRA and 1.0e-6 for full "
            "fine-tuning: ten times; it reports that the best rate does not depend on the rank.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/main/trl/trainer/sft_config.py",
            "The default of SFTConfig is 2e-5, with and without an adapter.",
        ),
    ),
    fix=Fix("try 1e-4 to 2e-4"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter: lora\nlora_r: 16\nlora_alpha: 32\n"
        "lora_target_linear: true\noptimizer: adamw_torch_fused\nlearning_rate: 0.00001\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter: lora\nlora_r: 16\nlora_alpha: 32\n"
        "lora_target_linear: true\noptimizer: adamw_torch_fused\nlearning_rate: 0.0002\n",
    ),
    aliases=("TT402", "LORA005"),
    tips=("S0-66",),
    symptoms=("loss falls slowly", "model learns nothing", "LoRA is worse than full training"),
)

USUAL_FULL = 2e-5
"""The upper end of usual rates of full training with AdamW; TRL's default."""
_ADAPTERS = frozenset({"lora", "qlora"})
_OTHER_TASKS = frozenset({"preference", "reward"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A written rate, or the tool's default."""
    rate = run.setting("learning_rate")
    if run.value("adapter") not in _ADAPTERS or run.value("optimizer") not in ADAM_FAMILY or rate is None:
        return
    if _is_other_task(run) or not 0 < rate.value <= USUAL_FULL:
        return
    if rate.is_written:
        yield RULE.at(rate, rate=rate.value, default="")
    elif (adapter := run.setting("adapter")) is not None:
        yield RULE.at(adapter, rate=rate.value, default=" and the tool's default")


def _is_other_task(run: Description) -> bool:
    """A task without a word may be any: trainers of preferences and rewards share most of their keys."""
    task = run.value("task")
    is_open = task is None and run.tool in ("trl", "llamafactory")
    return task in _OTHER_TASKS or run.written("rl") is not None or is_open
