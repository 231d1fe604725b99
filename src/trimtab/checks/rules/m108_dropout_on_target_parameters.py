"""M108 dropout-on-target-parameters"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M108",
    name="dropout-on-target-parameters",
    severity="error",
    message="`lora_dropout` is {dropout}, and `target_parameters` names parameters: PEFT refuses that",
    why="An adapter on a bare parameter, as for experts that are one big tensor, changes the weight and "
    "never sees the input that dropout would apply to.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/blob/5d602fd/src/peft/tuners/lora/layer.py",
            'ParamWrapper: "does not work with lora_dropout != 0" is raised.',
        ),
    ),
    fix=Fix("set `lora_dropout` to 0"),
    bad=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0.05, "target_modules": ["q_proj", '
        '"up_proj"], "target_parameters": ["mlp.experts.gate_up_proj"]}',
    ),
    good=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0.0, "target_modules": ["q_proj", '
        '"up_proj"], "target_parameters": ["mlp.experts.gate_up_proj"]}',
    ),
    symptoms=("ValueError at start", "does not work with lora_dropout"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for PEFT's own configuration; Axolotl's refusal is C118's."""
    dropout, parameters = run.setting("lora_dropout"), own(run, "target_parameters")
    if dropout is None or parameters is None or not parameters.value or run.tool == "axolotl":
        return
    if dropout.value > 0:
        yield RULE.at(dropout, dropout=f"{dropout.value:g}")
