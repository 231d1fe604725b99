"""K105 checkpoint-cannot-be-resumed"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own, own_value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "adapter: lora\nlora_r: 16\nlora_alpha: 32\nlearning_rate: 0.0002\nauto_resume_from_checkpoints: true\n"
    "save_only_model: {value}\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
)

RULE = Rule(
    code="K105",
    name="checkpoint-cannot-be-resumed",
    severity="warning",
    message="checkpoints hold the model alone (`{key}: true`), but the run is to be resumed ({resume})",
    why="Optimizer, schedule and random state are missing: a run resumed from such a checkpoint starts "
    "Adam's moments from zero at full learning rate, or does not start.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "`save_only_model`: 'prevents resuming training from the checkpoint'.",
        ),
    ),
    fix=Fix("set `{key}: false`, or do not resume"),
    bad=Example("axolotl.yaml", _YAML.format(value="true")),
    good=Example("axolotl.yaml", _YAML.format(value="false")),
    symptoms=("worse after resume", "loss jumps after resume", "nothing to resume from"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where both are written."""
    alone = own(run, "save_only_model")
    if alone is None or alone.value is not True:
        return
    for name in ("auto_resume_from_checkpoints", "resume_from_checkpoint"):
        value = own_value(run, name)
        if value is True or (isinstance(value, str) and value.strip()):
            yield RULE.at(alone, resume=f"`{name}: {str(value).lower() if value is True else value}`")
            return
