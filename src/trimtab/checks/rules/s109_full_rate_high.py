"""S109 full-rate-high"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY, billions

RULE = Rule(
    code="S109",
    name="full-rate-high",
    severity="note",
    message="all weights of a pretrained model{size} are trained at {rate:g}, {usual}",
    why="Large models are pretrained with a peak learning rate of about 1e-4, and LoRA uses such rates; full "
    "fine-tuning needs about a tenth, otherwise the model forgets. Encoders such as BERT are fine-tuned at 2e-5 to "
    "5e-5. The rule ignores other small models and encoder-decoders, which train at higher rates.",
    evidence=(
        Maintainer(
            "https://github.com/EleutherAI/gpt-neox/blob/main/configs/6-7B.yml",
            "Pretraining of 6.7 billion parameters has its peak at 1.2e-4.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/main/docs/source/lora_without_regret.md",
            "LoRA takes ten times the rate of full fine-tuning.",
        ),
        Paper(
            "https://arxiv.org/abs/1810.04805", "BERT, A.3: fine-tuned at 5e-5, 3e-5 or 2e-5 on all tasks."
        ),
    ),
    fix=Fix("try {fix}"),
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
ENCODER_HIGH = 5e-4
"""Above ten times what BERT was fine-tuned with; ELECTRA's small models took 3e-4."""
_ENCODERS = frozenset(
    {"bert", "roberta", "distilbert", "electra", "deberta", "deberta-v2", "xlm-roberta", "camembert", "mpnet"}
)
LARGE = 3.0
"""Billions of parameters from which this is worth saying."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Only where everything is known: full training, pretrained, decoder only, large; or an encoder of BERT's kind."""
    yield from _of_encoders(run)
    rate, size = run.setting("learning_rate"), billions(run)
    if rate is None or not LORA_LIKE <= rate.value <= LORA_HIGHEST or size is None or size < LARGE:
        return
    is_full = run.value("adapter") == "none" and run.value("from_scratch") is not True
    is_decoder = run.value("encoder_decoder") is not True
    if is_full and is_decoder and run.value("optimizer") in ADAM_FAMILY and run.value("task") != "pretrain":
        of_size, usual = f" of {size:g} billion parameters", "a usual rate for LoRA"
        yield RULE.at(rate, size=of_size, rate=rate.value, usual=usual, fix="1e-5 to 2e-5")


def _of_encoders(run: Description) -> Iterator[Diagnosis]:
    rate = run.setting("learning_rate")
    if rate is None or not rate.is_written or not ENCODER_HIGH <= rate.value <= LORA_HIGHEST:
        return
    is_full = run.value("adapter") == "none" and run.value("from_scratch") is False
    if is_full and run.value("model_family") in _ENCODERS and run.value("optimizer") in ADAM_FAMILY:
        size, usual = f" of the family {run.value('model_family')}", "where 2e-5 to 5e-5 is usual"
        yield RULE.at(rate, severity="warning", size=size, rate=rate.value, usual=usual, fix="2e-5 to 5e-5")
