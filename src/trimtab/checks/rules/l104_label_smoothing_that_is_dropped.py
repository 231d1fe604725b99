"""L104 label-smoothing-that-is-dropped"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import RemoveKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "{smoothing}learning_rate: 0.0002\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
)

RULE = Rule(
    code="L104",
    name="label-smoothing-that-is-dropped",
    severity="error",
    message="`{key}`: Axolotl has no label smoothing for supervised training, and drops the key silently",
    why="The run trains with hard labels. The only such key is `dpo_label_smoothing`, which is noise on "
    "preferences and another thing.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            "`dpo_label_smoothing` is the only label smoothing of the schema, and the schema does not forbid "
            "unknown keys.",
        ),
    ),
    fix=Fix("remove it (nothing changes), or train with a tool that has it", safety="same training"),
    bad=Example("axolotl.yaml", _YAML.format(smoothing="label_smoothing_factor: 0.1\n")),
    good=Example("axolotl.yaml", _YAML.format(smoothing="")),
    tips=("S0-45",),
    symptoms=("a setting has no effect",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on the names that other tools have for it."""
    for name in ("label_smoothing_factor", "label_smoothing"):
        setting = run.written(name) if run.tool == "axolotl" else None
        known = run.table.key(name) if run.table is not None else None
        if setting is not None and known is None:
            yield RULE.at(setting, edits=(RemoveKey(setting.key),))
