"""In which precision a forward pass runs, by device."""

from typing import Literal

import torch

from trimtab.config.step import Precision
from trimtab.errors import input_error

WHOLE = ("fp32", "tf32")
"""Nothing is rounded to half precision; TF32 rounds the factors of products to 10 bits of mantissa."""

Resolved = Literal["fp32", "tf32", "bf16_mixed", "fp16_mixed", "bf16"]


def resolve_precision(precision: Precision, device: torch.device) -> Resolved:
    """`auto` is bf16_mixed where the GPU has it, fp16_mixed on older GPUs, fp32 on a CPU.

    Raises InputError for a precision that the device does not have.
    """
    if device.type != "cuda":
        if precision not in ("auto", "fp32", "bf16_mixed", "bf16"):
            raise input_error(
                "step.precision needs a GPU",
                got=precision,
                allowed="auto, fp32, bf16_mixed or bf16 on a CPU",
                fix="leave out step.precision",
            )
        return "fp32" if precision == "auto" else precision
    has_bf16 = torch.cuda.get_device_capability(device) >= (8, 0)
    if precision == "auto":
        return "bf16_mixed" if has_bf16 else "fp16_mixed"
    if precision in ("bf16_mixed", "bf16", "tf32") and not has_bf16:
        raise input_error(
            f"step.precision: this GPU has no {precision.removesuffix('_mixed')}",
            got=f"{precision} on {torch.cuda.get_device_name(device)}",
            allowed="auto, fp32 or fp16_mixed",
            fix="leave out step.precision",
        )
    return precision


def autocast(precision: Resolved, device: torch.device) -> torch.autocast:
    """The context for a forward pass: sums stay float32, and weights as they are; products run in half precision where
    asked."""
    dtype = torch.float16 if precision == "fp16_mixed" else torch.bfloat16
    return torch.autocast(device.type, dtype=dtype, enabled=precision not in WHOLE)
