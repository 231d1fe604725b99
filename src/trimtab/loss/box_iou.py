"""How much boxes overlap, pair by pair, with a gradient where they do not: IoU, GIoU, DIoU, CIoU."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

EPS = 1e-7
"""Of areas and lengths that may be zero."""
IoUKind = Literal["iou", "giou", "diou", "ciou"]


def corners(boxes: Float[Tensor, "*boxes 4"]) -> Float[Tensor, "*boxes 4"]:
    """Center, width and height as left, top, right, bottom."""
    center, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([center - half, center + half], dim=-1)


def box_iou(
    one: Float[Tensor, "*#boxes 4"], other: Float[Tensor, "*#boxes 4"], kind: IoUKind = "iou"
) -> Float[Tensor, "*boxes"]:
    """IoU of boxes (left, top, right, bottom) in float32 or wider, or one of its relatives; shapes broadcast.

    GIoU (Rezatofighi et al. 2019, arXiv 1902.09630, algorithm 1) subtracts the empty share of the smallest box around
    both; DIoU (Zheng et al. 2020, arXiv 1911.08287, equation 7) the squared distance of the centers by the squared
    diagonal of that box; CIoU (equations 8 to 11) also alpha times the difference v of the aspect ratios, where alpha
    has no gradient. Equal boxes give 1. Boxes without an area give finite values and gradients.
    """
    wide = torch.promote_types(one.dtype, torch.float32)
    one, other = one.to(wide), other.to(wide)
    sides, others = one[..., 2:] - one[..., :2], other[..., 2:] - other[..., :2]
    shared = (torch.min(one[..., 2:], other[..., 2:]) - torch.max(one[..., :2], other[..., :2])).clamp(min=0)
    overlap = shared[..., 0] * shared[..., 1]
    union = sides.prod(-1) + others.prod(-1) - overlap
    iou = overlap / union.clamp(min=EPS)
    if kind == "iou":
        return iou
    around = torch.max(one[..., 2:], other[..., 2:]) - torch.min(one[..., :2], other[..., :2])
    if kind == "giou":
        hull = around.prod(-1).clamp(min=EPS)
        return iou - (hull - union) / hull
    apart = ((one[..., :2] + one[..., 2:] - other[..., :2] - other[..., 2:]) / 2).square().sum(-1)
    found = iou - apart / around.square().sum(-1).clamp(min=EPS)
    if kind == "diou":
        return found
    v = 4 / math.pi**2 * (_angle(others) - _angle(sides)).square()
    with torch.no_grad():
        alpha = v / (1 - iou + v).clamp(min=EPS)
    return found - alpha * v


def _angle(sides: Float[Tensor, "*boxes 2"]) -> Float[Tensor, "*boxes"]:
    return torch.atan(sides[..., 0] / sides[..., 1].clamp(min=EPS))
