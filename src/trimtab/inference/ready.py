"""A trained model, ready to be used on its device."""

from typing import Literal, TypeVar

import torch
from torch import nn

from trimtab.step.precision import resolve_precision

OneModel = TypeVar("OneModel", bound=nn.Module)


def prepare_for_inference(
    device: torch.device, model: OneModel, *, kernel: Literal["varlen", "padded"]
) -> OneModel:
    """The model on its device, in evaluation mode; on a GPU in half precision, its attention by this kernel."""
    if device.type == "cuda":
        half = torch.float16 if resolve_precision("auto", device) == "fp16_mixed" else torch.bfloat16
        model = model.half_precision_copy(half)
        model.kernel = kernel
    return model.to(device).eval()
