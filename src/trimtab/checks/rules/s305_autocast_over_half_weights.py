"""S305 autocast-over-half-weights"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Folklore
from trimtab.checks.half_precision import half_weights, stored_dtype, unless_launched
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S305",
    name="autocast-over-half-weights",
    severity="note",
    message="autocast to {dtype} is on over weights that are {dtype} already{unless}",
    why="Autocast has nothing to cast in matrix products then; it only turns norms, softmax and the loss to "
    "fp32 and keeps copies of what it casts. Either keep fp32 weights under autocast, or leave autocast off "
    "and use stochastic rounding.",
    evidence=(
        Arithmetic(
            "Casting a bf16 tensor to bf16 changes nothing: the products are the same with and without it."
        ),
        Folklore("Practitioners report less memory in pure bf16 with autocast off."),
    ),
    fix=Fix("remove `bf16: true`, or load the weights in fp32"),
    bad=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.bfloat16)\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, learning_rate=1e-3, '
        "adam_beta2=0.95, bf16=True)\n"
        "Trainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float32)\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, learning_rate=1e-3, '
        "adam_beta2=0.95, bf16=True)\n"
        "Trainer(model=model, args=args).train()\n",
    ),
    aliases=("PREC005",),
    tips=("S0-101",),
    symptoms=("out of memory",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where both are written by hand: Axolotl's one key `bf16` means both, and that is no mistake of the file."""
    weights, autocast = half_weights(run), run.setting("autocast")
    if weights is None or autocast is None or stored_dtype(run) != "bf16" or autocast.value != "bf16":
        return
    if weights.is_written and autocast.is_written and weights.key != autocast.key and run.tool != "axolotl":
        yield RULE.at(autocast, dtype="bf16", unless=unless_launched(run))
