"""L108 loss-on-prompts"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter: "
    "lora\nlora_r: 16\nlora_alpha: 32\nlearning_rate: 0.0002\ntrain_on_inputs: {value}\ndatasets:\n  - "
    "path: data.jsonl\n    type: alpaca\n"
)

RULE = Rule(
    code="L108",
    name="loss-on-prompts",
    severity="note",
    message="prompts count in the loss (`{key}: {value}`)",
    why="The condition decides: with long prompts and short answers, or few examples, it regularises and can "
    "help; where prompts repeat one template, most of the loss is that template, it falls fast and says "
    "little about answers.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2405.14394",
            "Over 21 benchmarks, loss on instructions helps in many scenarios, most with long instructions "
            "and brief outputs, or few examples.",
        ),
        Paper(
            "https://arxiv.org/abs/2507.07817",
            "A low to moderate weight for prompt tokens did best, in five models; neither 0 nor 1 was the "
            "best choice.",
        ),
    ),
    fix=Fix("set `{key}: false` unless prompts are long, varied and answers short"),
    bad=Example("axolotl.yaml", _YAML.format(value="true")),
    good=Example("axolotl.yaml", _YAML.format(value="false")),
    symptoms=("loss is low but answers are bad", "repeats the prompt"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the file itself asks for it in supervised fine-tuning."""
    setting = run.setting("loss_on_prompt")
    if setting is not None and setting.is_written and setting.value and run.value("task") != "pretrain":
        yield RULE.at(setting, value=str(setting.value).lower())
