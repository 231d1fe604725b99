"""M313 experts-without-balance"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: mistralai/Mixtral-8x7B-v0.1\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\n"
    "learning_rate: 0.00002\noptimizer: adamw_torch\n{router}"
    "datasets:\n  - path: data.jsonl\n    type: alpaca\n"
)

RULE = Rule(
    code="M313",
    name="experts-without-balance",
    severity="note",
    message="all weights of a mixture of experts are trained without its balancing loss",
    why="In transformers the balancing loss is added only where the model is asked for its router's logits, "
    "and by default it is not. In short fine-tuning that rarely matters; in long training the router can "
    "come to use few experts. Adapters that leave the router alone are not concerned.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/mixtral/"
            "configuration_mixtral.py",
            "`output_router_logits` is False by default; the loss is computed only where it is true.",
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/examples/mistral/mixtral/mixtral.yml",
            "The maintainers' own examples for Mixtral set `output_router_logits: true`.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("axolotl.yaml", _YAML.format(router="")),
    good=Example("axolotl.yaml", _YAML.format(router="model_config:\n  output_router_logits: true\n")),
    tips=("S2-40",),
    symptoms=("experts collapse", "worse than the dense model"),
)
_FAMILIES = frozenset({"mixtral", "qwen2_moe", "qwen3_moe"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for full training of families that have such a loss."""
    name = run.setting("model_name")
    if name is None or run.value("model_family") not in _FAMILIES:
        return
    if run.tool == "axolotl":
        switch = run.written("model_config.output_router_logits")
        adapter = run.written("adapter")
        is_full = adapter is None or not adapter.value
        if is_full and (switch is None or switch.value is False):
            fix = "set `output_router_logits: true` under `model_config`"
            yield RULE.at(name if switch is None else switch, fix=fix)
    elif run.tool == "llamafactory":
        coefficient, method = run.written("moe_aux_loss_coef"), run.written("finetuning_type")
        is_full = method is not None and method.value == "full"
        if is_full and (coefficient is None or not coefficient.value):
            yield RULE.at(name if coefficient is None else coefficient, fix="set `moe_aux_loss_coef: 0.001`")
