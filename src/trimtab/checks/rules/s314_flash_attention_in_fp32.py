"""S314 flash-attention-in-fp32"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S314",
    name="flash-attention-in-fp32",
    severity="error",
    message="`{kernel}` is asked for, and the run calculates in fp32, which that kernel does not know",
    why="Flash Attention's kernels exist for fp16 and bf16 only. Without autocast, fp32 weights give fp32 "
    "queries and the kernel stops.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/modeling_utils.py",
            '"Flash Attention only supports torch.float16 and torch.bfloat16 dtypes", with the advice to use '
            "autocast or "
            "to load in one of them.",
        ),
    ),
    fix=Fix("turn bf16 on, or take `attn_implementation: sdpa`"),
    bad=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype=torch.float32, '
        'attn_implementation="flash_attention_2")\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, bf16=False, fp16=False)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype=torch.float32, '
        'attn_implementation="flash_attention_2")\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, bf16=True, fp16=False)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    symptoms=(
        "FlashAttention only support fp16 and bf16 data type",
        "RuntimeError at the first step",
        "FlashAttention only supports Ampere GPUs and half precision",
    ),
)

_KERNELS = frozenset({"flash_attention_2", "flash_attention_3", "flash_attention_4"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where fp32 is written for the weights and autocast is known to be off."""
    kernel = run.setting("attention_kernel")
    if kernel is None or kernel.value not in _KERNELS or run.value("quantization_bits") is not None:
        return
    if run.value("weights_dtype") == "fp32" and run.value("autocast") == "none":
        yield RULE.at(kernel, kernel=kernel.value)
