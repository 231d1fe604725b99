"""S115 second-moment-horizon"""

import math
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Measured, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY, devices, tokens_per_step

RULE = Rule(
    code="S115",
    name="second-moment-horizon",
    severity="note",
    message="Adam's second moment halves every {life:,.0f} tokens (beta2 {beta2:g}, {tokens:,} tokens a "
    "step), which is {what}",
    why="What matters is how many tokens the average of squared gradients looks back. With 0.95 and small "
    "batches it is noisy, and even 0.98 was behind 0.999 in a small translator; with 0.999 and batches of "
    "millions it is out of date when the gradient grows. The "
    "range is wide on purpose.",
    evidence=(
        Measured(
            "beta2",
            "8 million parameters, English to German, 8,192 targets a step, 5 seeds: 0.999, a half-life of 5.7 million "
            "tokens, is 0.062 nats a token better than 0.98 (0.045 to 0.079), which is 0.053 better than 0.9.",
        ),
        Paper(
            "https://arxiv.org/abs/2507.07101",
            "Marek et al. 2025: instead of the decay rate, the half-life of the second moment in tokens "
            "should be held fixed across batch sizes.",
        ),
        Arithmetic("b^n = 1/2 after n = ln 2 / -ln b steps: 13.5 for 0.95, 693 for 0.999."),
    ),
    fix=Fix("set beta2 to about {wanted}, for a half-life of 10 million tokens"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\npretraining_dataset:\n  - path: corpus\nmax_steps: "
        "10000\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nsequence_len: 512\nsample_packing: "
        "true\nadam_beta1: 0.9\nadam_beta2: 0.9\noptimizer: adamw_torch_fused\nlearning_rate: 0.00001\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\npretraining_dataset:\n  - path: corpus\nmax_steps: "
        "10000\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nsequence_len: 512\nsample_packing: "
        "true\nadam_beta1: 0.9\nadam_beta2: 0.9999\noptimizer: adamw_torch_fused\nlearning_rate: 0.00001\n",
    ),
    aliases=("BATCH001",),
    tips=("S4-11", "S2-27"),
    symptoms=("loss spikes", "loss is noisy"),
)

SHORTEST, LONGEST = 1e5, 1e9
"""Tokens: well outside of what is usual, 1 to 30 million."""
TARGET = 1e7


def check(run: Description) -> Iterator[Diagnosis]:
    """A written beta2 and a known number of tokens; without the number of devices a short one may be long enough."""
    beta2, tokens = run.setting("beta2"), tokens_per_step(run)
    if beta2 is None or not beta2.is_written or tokens is None or not 0 < beta2.value < 1:
        return
    if run.value("optimizer") not in ADAM_FAMILY:
        return
    life = math.log(2) / -math.log(beta2.value) * tokens
    is_short = life < SHORTEST / (1 if devices(run) is not None else 8)
    if is_short or life > LONGEST:
        wanted = shown(0.5 ** (tokens / TARGET))
        what = "very short" if is_short else "very long"
        yield RULE.at(beta2, life=life, beta2=beta2.value, tokens=tokens, what=what, wanted=wanted)


def shown(beta: float) -> str:
    """With four digits behind the point, or so many more that two of them say how far it is from 1."""
    digits = 1 - math.floor(math.log10(1 - beta))
    return f"{beta:.{max(4, digits)}f}"
