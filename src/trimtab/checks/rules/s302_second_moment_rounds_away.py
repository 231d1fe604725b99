"""S302 second-moment-rounds-away"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.half_precision import half_weights, is_adam, stored_dtype, unless_launched
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S302",
    name="second-moment-rounds-away",
    severity="warning",
    message="Adam's second moment is kept in bf16, where beta2 = {beta2} cannot bring it down: it shrinks by "
    "{step:.2%} a step at most, and half a bf16 step is 0.195% to 0.39%{unless}",
    why="PyTorch's Adam keeps its state in the dtype of the weights. With beta2 above 0.996 the decay is "
    "smaller than half a rounding step, so that the second moment rises with a large gradient and never "
    "falls again: the learning rate of that weight stays low for the rest of the run.",
    evidence=(
        Arithmetic(
            "v in [2^e, 2^(e+1)) has neighbours 2^(e-7) apart; v * beta2 rounds back to v where v * (1 - "
            "beta2) < 2^(e-8), for all v where 1 - beta2 < 2^-9 = 0.00195, for some where it is < 2^-8 = "
            "0.0039. Simulated: v from 1.0 with g^2 = 1e-4 stays at exactly 1.0 for 5,000 steps at 0.999; at "
            "0.995 it follows fp32."
        ),
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/optim/adam.py",
            "exp_avg_sq is made with zeros_like(p), in the dtype of the parameter.",
        ),
    ),
    fix=Fix(
        "set beta2 to 0.99 or lower, keep the weights in fp32 with autocast, or take an optimizer with 8-bit "
        "or fp32 state"
    ),
    bad=Example(
        "full.yaml",
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: "
        "qwen\ndataset: alpaca_en_demo\noutput_dir: out\npure_bf16: true\nlearning_rate: 2.0e-4\nadam_beta2: "
        "0.999\n",
    ),
    good=Example(
        "full.yaml",
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: "
        "qwen\ndataset: alpaca_en_demo\noutput_dir: out\npure_bf16: true\nlearning_rate: 2.0e-4\nadam_beta2: "
        "0.95\n",
    ),
    aliases=("PREC002",),
    tips=("S0-106",),
    symptoms=("loss flat", "stops learning after a spike", "loss falls slowly"),
)

LARGEST = 0.996
STATE_LIKE_WEIGHTS = frozenset(
    {
        "adamw_torch",
        "adamw_torch_fused",
        "adamw_torch_xla",
        "adamw_torch_npu_fused",
        "adam",
        "adamw",
        "AdamW",
        "Adam",
    }
)
"""Optimizers of PyTorch itself; those of bitsandbytes, Apex and torchao keep other states."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for PyTorch's own Adam over bf16 weights."""
    weights, beta2 = half_weights(run), run.setting("beta2")
    if weights is None or stored_dtype(run) != "bf16" or beta2 is None or not LARGEST < beta2.value < 1:
        return
    variant = run.value("optimizer_variant")
    is_torchs = variant in STATE_LIKE_WEIGHTS if variant is not None else is_adam(run)
    if is_torchs and run.value("stochastic_rounding") is not True:
        where = beta2 if beta2.is_written else weights
        unless = unless_launched(run)
        severity = "note" if weights.value == "auto" or unless else None
        yield RULE.at(where, severity=severity, beta2=f"{beta2.value:g}", step=1 - beta2.value, unless=unless)
