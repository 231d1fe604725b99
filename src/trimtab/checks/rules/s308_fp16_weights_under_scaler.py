"""S308 fp16-weights-under-scaler"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.half_precision import half_weights, is_sharded, stored_dtype
from trimtab.checks.read.flow.half import is_off
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S308",
    name="fp16-weights-under-scaler",
    severity="error",
    message="the trained weights are fp16 and `{key}` scales the loss: training stops with "
    '"Attempting to unscale FP16 gradients"',
    why="Loss scaling divides the gradients by the scale before the step, and PyTorch refuses that for fp16 "
    "gradients, which fp16 weights have. Mixed precision wants fp32 weights; it casts them itself.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py",
            '_unscale_grads_: "Attempting to unscale FP16 gradients." for fp16 gradients.',
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            "check_fft_possible_bad_config: full fine-tuning in fp16 is likely to raise this very error.",
        ),
        Maintainer(
            "https://github.com/Facico/Chinese-Vicuna/issues/168",
            "The traceback from Trainer, with a model loaded in float16 and fp16 training.",
        ),
    ),
    fix=Fix("load the weights in fp32 and keep fp16 for autocast, or use bf16"),
    bad=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16)\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, fp16=True)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float32)\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, bf16=True)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    aliases=("TT203",),
    tips=("S2-15",),
    symptoms=(
        "Attempting to unscale FP16 gradients",
        "ValueError at the first step",
        "fp16 weights with GradScaler",
        "ValueError: Attempting to unscale FP16 gradients",
    ),
)

ONE_FLAG = ("axolotl",)
"""Tools whose `fp16: true` sets both, so that which of them fails depends on the model's other parts."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where all weights are trained by PyTorch's own scaler, clipped (as by default) before the step."""
    weights, autocast = half_weights(run) or _whole_modules(run), run.setting("autocast")
    if weights is None or stored_dtype(run) != "fp16":
        return
    if autocast is None and _is_scaled(run):
        yield RULE.at(weights)
    if autocast is None or autocast.value != "fp16":
        return
    yield RULE.at(autocast, severity="warning" if run.tool in ONE_FLAG else None)


def _is_scaled(run: Description) -> bool:
    """Whether the script's own scaler, switched on, steps."""
    return any(
        event.value.args
        and event.subject is not None
        and event.subject.last == "GradScaler"
        and not is_off(event.subject)
        for event in flow_of(run.document).named("step")
    )


def _whole_modules(run: Description) -> Setting | None:
    """Modules beside an adapter are copies in the model's own dtype; PEFT casts only the adapter's weights to fp32."""
    saved = run.setting("modules_to_save")
    if saved is None or not saved.value or run.value("quantization_bits") is not None or is_sharded(run):
        return None
    return run.setting("weights_dtype")
