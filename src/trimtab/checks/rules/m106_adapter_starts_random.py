"""M106 adapter-starts-random"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import is_low_rank
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.training_script import trains

RULE = Rule(
    code="M106",
    name="adapter-starts-random",
    severity="warning",
    message="`{key}: false` fills both halves of the adapter with random numbers: the model is damaged "
    "before the first step",
    why="LoRA starts with B = 0, so that the adapted model is the pretrained one. With false, B is random "
    "too; PEFT has it for testing that an adapter does anything.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/blob/5d602fd/src/peft/tuners/lora/config.py",
            'init_lora_weights: "False leads to random initialization of LoRA A and B, meaning that LoRA is '
            'not a no-op before training; this setting is intended for debugging purposes."',
        ),
    ),
    fix=Fix("remove it, or set it to true"),
    bad=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "r": 16, "lora_alpha": 16, "init_lora_weights": false, "target_modules": '
        '"all-linear"}',
    ),
    good=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "r": 16, "lora_alpha": 16, "init_lora_weights": true, "target_modules": '
        '"all-linear"}',
    ),
    aliases=("LORA007",),
    tips=("S2-06",),
    symptoms=("high loss at the first step", "model forgot everything"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where it is written; a script that only converts fills the adapter with its weights next."""
    initial = run.setting("lora_init")
    if initial is None or not initial.is_written or initial.value != "random":
        return
    if is_low_rank(run) and trains(run):
        yield RULE.at(initial)
