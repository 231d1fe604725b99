"""S109 full-rate-high"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY, billions

RULE = Rule(
    code="S109",
    name="full-rate-high",
    severity="note",
    message="all weights of a pretrained model of {size:g} billion parameters are trained at {rate:g}, a "
    "usual rate for LoRA",
    why="A rate of 1e-4 or more is what such a model is pretrained with at its peak, or what LoRA takes; "
    "full fine-tuning takes about a tenth, else the model forgets. Small models and encoder-decoders take "
    "higher rates, and are left out.",
    evidence=(
        Maintainer(
            "https://github.com/EleutherAI/gpt-neox/blob/main/configs/6-7B.yml",
            "Pretraining of 6.7 billion parameters has its peak at 1.2e-4.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/main/docs/source/lora_without_regret.md",
            "LoRA takes ten times the rate of full fine-tuning.",
        ),
    ),
    fix=Fix("try 1e-5 to 2e-5"),
    bad=Example(
        "axolotl.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter:\noptimizer: adamw_torch_fused\n"
        "learning_rate: 0.0002\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter:\noptimizer: adamw_torch_fused\n"
        "learning_rate: 0.00001\n",
    ),
    aliases=("TT402",),
    symptoms=("forgets what it knew", "loss jumps at the start", "diverged"),
)

LORA_LIKE = 1e-4
LORA_HIGHEST = 1e-2
"""Above it nothing is usual for LoRA either, and S140 or nobody speaks."""
LARGE = 3.0
"""Billions of parameters from which this is worth saying."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Only where everything is known: full training, pretrained, decoder only, large."""
    rate, size = run.setting("learning_rate"), billions(run)
    if rate is None or not LORA_LIKE <= rate.value <= LORA_HIGHEST or size is None or size < LARGE:
        return
    is_full = run.value("adapter") == "none" and run.value("from_scratch") is not True
    is_decoder = run.value("encoder_decoder") is not True
    if is_full and is_decoder and run.value("optimizer") in ADAM_FAMILY and run.value("task") != "pretrain":
        yield RULE.at(rate, size=size, rate=rate.value)
