"""M105 adapter-dropout-high"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import is_low_rank
from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M105",
    name="adapter-dropout-high",
    severity="note",
    message="dropout before the adapter is {dropout}; 0 to 0.1 is usual",
    why="An adapter has little capacity to begin with, and failures of LoRA come more often from too little "
    "of it than from too much. On very small data some dropout may help; fused kernels need 0.",
    evidence=(
        Folklore("QLoRA used 0.1 for 7B and 13B and 0.05 above (cited from memory); practitioners advise 0."),
    ),
    fix=Fix("set it to 0, or to 0.05 on small data"),
    bad=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0.3, "target_modules": '
        '"all-linear"}',
    ),
    good=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0.0, "target_modules": '
        '"all-linear"}',
    ),
    aliases=("LORA006",),
    tips=("S0-73", "S0-66"),
    symptoms=("LoRA learns nothing", "loss falls slowly"),
)

MOST = 0.1


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on a written value."""
    dropout = run.setting("lora_dropout")
    if dropout is not None and dropout.is_written and is_low_rank(run) and MOST < dropout.value < 1:
        yield RULE.at(dropout, dropout=f"{dropout.value:g}")
