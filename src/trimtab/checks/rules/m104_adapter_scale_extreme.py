"""M104 adapter-scale-extreme"""

from collections.abc import Iterator
from math import sqrt

from trimtab.checks.adapter_names import is_low_rank
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M104",
    name="adapter-scale-extreme",
    severity="warning",
    message="the adapter's output is multiplied by {scale} (alpha {alpha}, rank {rank}{rule}); usual is 0.25 "
    "to 4",
    why="The scale acts like a factor on the learning rate of the adapter. Two pieces of advice that are "
    "good alone, alpha equal to the rank and rsLoRA, multiply each other: alpha / sqrt(rank) is then "
    "sqrt(rank), 16 at rank 256.",
    evidence=(
        Paper(
            "https://ar5iv.labs.arxiv.org/html/2312.03732",
            "rsLoRA: divide by sqrt(r), not by r; with r in the denominator large ranks learn slowly.",
        ),
        Arithmetic("Scale: alpha / r; with rsLoRA alpha / sqrt(r). With alpha = r: 1, and sqrt(r)."),
    ),
    fix=Fix("set alpha to {wanted} for a scale of 1, or lower the learning rate to match"),
    bad=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B", "r": 256, "lora_alpha": '
        '256, "use_rslora": true, "target_modules": "all-linear"}',
    ),
    good=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B", "r": 256, "lora_alpha": '
        '16, "use_rslora": true, "target_modules": "all-linear"}',
    ),
    aliases=("LORA004",),
    tips=("S0-69", "S0-71"),
    symptoms=("diverged", "loss is NaN", "loss falls slowly", "LoRA learns nothing"),
)

LEAST, MOST = 0.25, 4.0
_FAR = 4.0
"""How far outside a plain scale must be to be more than worth knowing: the learning rate may make up for it."""

_TINY = 2
"""Up to this rank a large scale is what a fixed alpha of 32 gives, with which LoRA Without Regret trains every rank."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where rank and alpha are known; a pattern that changes them per module leaves it open."""
    alpha, rank, square = run.setting("lora_alpha"), run.setting("lora_rank"), run.value("rslora")
    if alpha is None or rank is None or not is_low_rank(run) or alpha.value <= 0 or rank.value <= 0:
        return
    if square is None or not (alpha.is_written or rank.is_written) or _has_patterns(run):
        return
    wanted = sqrt(rank.value) if square else float(rank.value)
    scale = alpha.value / wanted
    if LEAST <= scale <= MOST:
        return
    is_near = not square and (LEAST / _FAR <= scale <= MOST * _FAR or rank.value <= _TINY)
    yield RULE.at(
        alpha if alpha.is_written else rank,
        severity="note" if is_near else None,
        scale=f"{scale:.3g}",
        alpha=f"{alpha.value:g}",
        rank=rank.value,
        rule=", rsLoRA" if square else "",
        wanted=f"{wanted:.3g}",
    )


def _has_patterns(run: Description) -> bool:
    return any(
        key.rpartition(".")[2] in ("rank_pattern", "alpha_pattern", "lora_rank_pattern", "lora_alpha_pattern")
        and found.value
        for key, found in run.keys.items()
    )
