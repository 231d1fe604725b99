"""S303 epsilon-below-fp16"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.half_precision import half_weights, stored_dtype
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S303",
    name="epsilon-below-fp16",
    severity="error",
    message="Adam's epsilon {epsilon} is 0 in fp16, in which weights and state are kept",
    why="Where a gradient is exactly zero, as for each word that is not in the batch, the update is 0 / (0 + "
    "0) = NaN. After the first step the rows of those words are NaN.",
    evidence=(
        Arithmetic(
            "The least fp16 number above zero is 2^-24 = 6e-8; what is below half of it, 2.98e-8, rounds to "
            "0. With torch 2.13 AdamW on fp16 parameters, one step: eps 1e-8 and 2.9e-8 give NaN for a zero "
            "gradient, 3.1e-8 does not; fused=True calculates in fp32 and gives none."
        ),
        Maintainer(
            "https://github.com/pytorch/pytorch/issues/147437",
            "All parameters NaN after the first optimizer step in float16 with the default eps of 1e-8.",
        ),
        Maintainer(
            "https://github.com/google-deepmind/optax/issues/1754",
            "The same in optax: eps 1e-8 rounds to 0 in float16; a zero gradient gives 0 / 0.",
        ),
    ),
    fix=Fix("keep the weights in fp32 with autocast; or set epsilon to 1e-7 or more, or take a fused AdamW"),
    bad=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16)\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, optim="adamw_torch")\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float32)\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, optim="adamw_torch", '
        "bf16=True)\n"
        "Trainer(model=model, args=args).train()\n",
    ),
    aliases=("PREC003", "TT204"),
    tips=("S0-107",),
    symptoms=(
        "NaN after the first step",
        "loss is NaN",
        "embedding is NaN",
        "gradients underflow in fp16",
    ),
)

LEAST = 2.0**-25
UNFUSED = frozenset({"adamw_torch", "AdamW", "Adam"})
"""PyTorch's Adam in eager steps, which rounds each of them; fused kernels calculate in fp32."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where weights and state are fp16 and the kernel is not fused; under a scaler training fails before that."""
    weights, epsilon = half_weights(run), run.setting("epsilon")
    if weights is None or stored_dtype(run) != "fp16" or epsilon is None or not 0 <= epsilon.value <= LEAST:
        return
    if run.value("optimizer_variant") in UNFUSED and run.value("autocast") != "fp16":
        yield RULE.at(epsilon if epsilon.is_written else weights, epsilon=f"{epsilon.value:g}")
