"""M103 adapter-on-attention-only"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import ATTENTION, is_low_rank, names_in
from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M103",
    name="adapter-on-attention-only",
    severity="note",
    message="the adapter is on attention alone ({names})",
    why="Most of a transformer's weights, and most of what it can learn, are in the feed-forward layers. An "
    "adapter there as well does better than one of the same size on attention.",
    evidence=(
        Paper(
            "https://www.lqdev.me/bookmarks/lora-without-regret/",
            'LoRA Without Regret (Schulman et al. 2025), quoted there: "Attention-only LoRA underperforms '
            'even when we match the number of trainable parameters by using higher rank".',
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B", "r": 16, "lora_alpha": '
        '16, "target_modules": ["q_proj", "v_proj"]}',
    ),
    good=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B", "r": 16, "lora_alpha": '
        '16, "target_modules": "all-linear"}',
    ),
    aliases=("LORA003",),
    tips=("S0-75",),
    symptoms=("LoRA worse than full fine-tuning", "loss falls slowly"),
)

_WAYS = {
    "axolotl": "set `lora_target_linear: true`",
    "llamafactory": "set `lora_target: all`",
    "trimtab": "set `adapter.targets: all_linear`",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where all targets have the names of attention's projections, and no parameters are targeted beside them."""
    targets = run.setting("lora_targets")
    if targets is None or not targets.is_written or not is_low_rank(run) or not targets.value:
        return
    if len(names_in(targets.value, ATTENTION)) == len(targets.value) and not _has_parameters(run):
        way = _WAYS.get(run.tool, "set `target_modules` to `all-linear`")
        yield RULE.at(targets, names=", ".join(targets.value), way=way)


def _has_parameters(run: Description) -> bool:
    return any(
        key.rpartition(".")[2].endswith("target_parameters") and found.value
        for key, found in run.keys.items()
    )
