"""Losses of the categories of predicted boxes: focal, varifocal, and cross-entropy with a category for no object."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

ALPHA_FOCAL, ALPHA_VARIFOCAL, GAMMA = 0.25, 0.75, 2.0
NO_OBJECT_WEIGHT = 0.1
"""Of predictions that match no object, in DETR's cross-entropy."""


def focal_loss(
    logits: Float[Tensor, "*predictions categories"], targets: Float[Tensor, "*predictions categories"]
) -> Float[Tensor, "*predictions"]:
    """Sigmoid focal loss against targets of 0 and 1, summed over categories (Lin et al. 2017, arXiv 1708.02002,
    equation 5)."""
    entropy = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    chance = logits.sigmoid()
    right = chance * targets + (1 - chance) * (1 - targets)
    alpha = ALPHA_FOCAL * targets + (1 - ALPHA_FOCAL) * (1 - targets)
    return (alpha * (1 - right) ** GAMMA * entropy).sum(-1)


def varifocal_loss(
    logits: Float[Tensor, "*predictions categories"], quality: Float[Tensor, "*predictions categories"]
) -> Float[Tensor, "*predictions"]:
    """Varifocal loss, summed over categories (Zhang et al. 2021, arXiv 2008.13367, equation 2): `quality` is the IoU of
    the match in the category of its object, elsewhere 0."""
    chance = logits.sigmoid().detach()
    weight = torch.where(quality > 0, quality, ALPHA_VARIFOCAL * chance**GAMMA)
    entropy = F.binary_cross_entropy_with_logits(logits, quality, reduction="none")
    return (weight * entropy).sum(-1)


def softmax_loss(
    logits: Float[Tensor, "*predictions categories_and_none"], categories: Int[Tensor, "*predictions"]
) -> Float[Tensor, "*predictions"]:
    """Cross-entropy in which the last category is no object, of weight 0.1 (Carion et al. 2020, arXiv 2005.12872,
    section 3.1). (DETR divides it by the sum of these weights in a batch, trimtab by the boxes of a step.)"""
    none = logits.shape[-1] - 1
    nats = F.cross_entropy(logits.flatten(0, -2), categories.flatten(), reduction="none")
    return nats.view(categories.shape) * torch.where(categories == none, NO_OBJECT_WEIGHT, 1.0)
