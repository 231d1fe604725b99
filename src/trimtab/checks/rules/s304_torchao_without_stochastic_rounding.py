"""S304 torchao-without-stochastic-rounding"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer, Paper
from trimtab.checks.half_precision import half_weights, lost_share, stored_dtype
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S304",
    name="torchao-without-stochastic-rounding",
    severity="warning",
    message="`{variant}` over bf16 weights rounds to the nearest, because bf16_stochastic_round is off by "
    "default{lost}",
    why="torchao's low-bit optimizers can round bf16 weights stochastically, so that small updates arrive on "
    "average; nothing switches it on by itself. Tensors of fewer than 4,096 values keep a bf16 state all the "
    "same.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/ao/blob/f2cd577/torchao/optim/adam.py",
            "bf16_stochastic_round=False in every constructor; state is quantised from 4,096 values on.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_optimizer.py",
            'adamw_torch_8bit and _4bit read bf16_stochastic_round from optim_args, "False" where it is not '
            "there.",
        ),
        Paper(
            "https://arxiv.org/abs/2502.20566",
            "BF16 with stochastic rounding: better perplexity than mixed precision up to 6.7B.",
        ),
        Arithmetic("An update below half a rounding step is lost; see S301 for the share."),
    ),
    fix=Fix("set `optim_args: bf16_stochastic_round=True`"),
    bad=Example(
        "fft.yaml",
        "base_model: Qwen/Qwen2.5-0.5B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 2048\nmicro_batch_size: 4\ngradient_accumulation_steps: 1\nnum_epochs: 1\n"
        "optimizer: adamw_torch_8bit\nlearning_rate: 2e-5\nbf16: true\n",
    ),
    good=Example(
        "fft.yaml",
        "base_model: Qwen/Qwen2.5-0.5B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 2048\nmicro_batch_size: 4\ngradient_accumulation_steps: 1\nnum_epochs: 1\n"
        "optimizer: adamw_torch_8bit\noptim_args:\n  bf16_stochastic_round: true\nlearning_rate: 2e-5\nbf16: "
        "true\n",
    ),
    aliases=("PREC004",),
    tips=("S0-102", "S0-103"),
    symptoms=("loss falls slowly", "weights do not change"),
)

_OF_TORCHAO = frozenset(
    {
        "adamw_torch_8bit", "adamw_torch_4bit", "ao_adamw_8bit", "ao_adamw_4bit", "ao_adamw_fp8", "AdamW8bit",
        "AdamW4bit", "AdamWFp8",
    }
)  # fmt: skip


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the switch is known to be off."""
    variant, weights = run.setting("optimizer_variant"), half_weights(run)
    if variant is None or variant.value not in _OF_TORCHAO or weights is None or stored_dtype(run) != "bf16":
        return
    if run.value("stochastic_rounding") is False:
        yield RULE.at(variant, variant=variant.value, lost=_lost(run.value("learning_rate")))


def _lost(rate: float | None) -> str:
    if rate is None or not 0 < rate < 1:
        return ""
    return f"; at a learning rate of {rate:g} {lost_share(rate, 'bf16'):.0%} of the weights do not change in a step"
