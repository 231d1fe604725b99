"""D110 data-in-file-order"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "adapter: lora\nlora_r: 16\nlora_alpha: 32\nlearning_rate: 0.0002\nshuffle_merged_datasets: {value}\n"
    "datasets:\n  - path: data.jsonl\n    type: alpaca\n"
)
_OFF: dict[str, tuple[object, ...]] = {
    "shuffle_merged_datasets": (False,),
    "disable_shuffling": (True,),
    "train_sampling_strategy": ("sequential",),
}

RULE = Rule(
    code="D110",
    name="data-in-file-order",
    severity="note",
    message="`{key}: {value}` trains on the examples in the order of the file",
    why="Right for a curriculum that was made on purpose. Else, where a file is sorted by source, topic or "
    "length, each stretch of steps sees one kind only: the loss moves in steps, and what came last is "
    "remembered best.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            "`shuffle_merged_datasets`: if false, datasets 'will keep their original order in `datasets`'; "
            "true is the default.",
        ),
        Arithmetic(
            "A gradient of examples of one kind is an estimate for that kind alone, not for the mixture."
        ),
    ),
    fix=Fix("remove `{key}`, unless the order is meant"),
    bad=Example("axolotl.yaml", _YAML.format(value="false")),
    good=Example("axolotl.yaml", _YAML.format(value="true")),
    symptoms=("loss moves in steps", "forgets what came first"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a file switches shuffling off."""
    for key, values in _OFF.items():
        setting = own(run, key)
        if setting is not None and any(
            type(setting.value) is type(off) and setting.value == off for off in values
        ):
            yield RULE.at(setting, value=str(setting.value).lower())
