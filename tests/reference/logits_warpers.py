"""The drawing settings as Hugging Face's transformers computes them."""

from typing import Any

import torch
from transformers.generation.logits_process import (
    EpsilonLogitsWarper,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

WARPERS: dict[str, Any] = {
    "temperature": TemperatureLogitsWarper,
    "top_k": TopKLogitsWarper,
    "top_p": TopPLogitsWarper,
    "min_p": MinPLogitsWarper,
    "epsilon": EpsilonLogitsWarper,
}
"""In the order in which `generate` applies them."""


def warped(scores: torch.Tensor, **settings: Any) -> torch.Tensor:
    """The probabilities that `generate(do_sample=True, ...)` draws from."""
    ids = torch.zeros((len(scores), 1), dtype=torch.long)
    for name, warper in WARPERS.items():
        if settings.get(name) is not None:
            scores = warper(settings[name])(ids, scores)
    return scores.softmax(-1)
