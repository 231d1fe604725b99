"""Which prediction belongs to which object: the assignment of least cost, by the Hungarian method.

scipy solves it where it is installed (`trimtab[vision]` brings it): it takes a tenth of a millisecond for an image,
and a step has one assignment for each image and layer. Without scipy, `assign` does the same in numpy, so that nothing
else of a run depends on it.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.loss.box_classes import ALPHA_FOCAL, GAMMA
from trimtab.loss.box_iou import box_iou, corners

CLASS_COST, L1_COST, IOU_COST = 2.0, 5.0, 2.0
"""Weights of the cost, as in Deformable DETR, RT-DETR and D-FINE. Its overlap is GIoU, whatever the loss uses: an
aspect ratio says little about which box is meant."""
SMALL = 1e-8
LARGEST_COST = 1e6
"""In place of costs that are not finite, so that a diverged step is judged by the guard and not by an exception."""


@torch.no_grad()
def match(
    logits: Float[Tensor, "layers images queries categories"],
    boxes: Float[Tensor, "layers images queries 4"],
    targets: tuple[Int[Tensor, "objects"], Float[Tensor, "objects 4"]],
    counts: Sequence[int],
    *,
    softmax: bool = False,
) -> Int[Tensor, "layers objects"]:
    """The query of each object, layer by layer. `targets` are the categories and boxes of the objects of all images,
    one image after another, of which each has so many as `counts` says, and no more than there are queries."""
    categories, wanted = targets
    images_of_objects = image_indices(counts, logits.device)
    # Objects are looked at with the queries of their own image alone: layers x objects x queries.
    scores = logits.softmax(-1) if softmax else logits.sigmoid()
    probabilities = scores[:, images_of_objects, :, categories].transpose(0, 1)
    host = costs_of(probabilities, boxes[:, images_of_objects], wanted, softmax=softmax).cpu().numpy()
    found = np.zeros((len(logits), len(categories)), np.int64)
    solve, first = solver(), 0
    for count in counts:
        for layer in range(len(logits) if count else 0):
            found[layer, first : first + count] = solve(host[layer, first : first + count])
        first += count
    return torch.from_numpy(found).to(logits.device)


def image_indices(counts: Sequence[int], device: torch.device) -> Int[Tensor, "objects"]:
    """The number of each object's image."""
    return torch.from_numpy(np.repeat(np.arange(len(counts)), counts)).to(device)


def costs_of(
    probabilities: Float[Tensor, "layers objects queries"],
    boxes: Float[Tensor, "layers objects queries 4"],
    wanted: Float[Tensor, "objects 4"],
    *,
    softmax: bool,
) -> Float[Tensor, "layers objects queries"]:
    """What it costs to give each object each query of its image: by the `probabilities` of its category, as a
    difference of focal losses, or as they are in DETR; then L1 and GIoU of the boxes."""
    if softmax:
        of_class = -probabilities
    else:
        right = ALPHA_FOCAL * (1 - probabilities) ** GAMMA * -(probabilities + SMALL).log()
        wrong = (1 - ALPHA_FOCAL) * probabilities**GAMMA * -(1 - probabilities + SMALL).log()
        of_class = right - wrong
    wanted = wanted.to(boxes.dtype)
    distance = (boxes - wanted[None, :, None]).abs().sum(-1)
    overlap = box_iou(corners(boxes), corners(wanted)[None, :, None], "giou")
    whole = CLASS_COST * of_class + L1_COST * distance - IOU_COST * overlap
    return torch.nan_to_num(whole, nan=LARGEST_COST, posinf=LARGEST_COST, neginf=-LARGEST_COST)


def solver() -> Callable[[np.ndarray], np.ndarray]:
    """What solves an assignment of rows to columns, at least as many: scipy's, or the one below."""
    if find_spec("scipy") is None:
        return assign
    from scipy.optimize import linear_sum_assignment

    return lambda costs: linear_sum_assignment(costs)[1]


def assign(costs: Float[np.ndarray, "rows columns"]) -> Int[np.ndarray, "rows"]:
    """The column of each row in the assignment of least total cost, with at least as many columns as rows.

    Shortest augmenting paths with potentials (Kuhn 1955; Jonker and Volgenant 1987): each row is added by the cheapest
    path through those that are assigned. Rows x rows x columns operations, in numpy over the columns.
    """
    rows, columns = costs.shape
    assert rows <= columns, "more rows than columns"
    costs = costs.astype(np.float64)
    of_row, of_column = np.zeros(rows), np.zeros(columns)
    owner = np.full(columns, -1)
    for first in range(rows):
        distance, before = np.full(columns, np.inf), np.full(columns, -1)
        done = np.zeros(columns, bool)
        row, least, column = first, 0.0, -1
        while row >= 0:
            reduced = least + costs[row] - of_row[row] - of_column
            better = ~done & (reduced < distance)
            distance[better], before[better] = reduced[better], column
            column = int(np.where(done, np.inf, distance).argmin())
            least, done[column] = distance[column], True
            row = int(owner[column])
        visited = done & (owner >= 0)
        of_row[owner[visited]] += least - distance[visited]
        of_row[first] += least
        of_column[done] -= least - distance[done]
        while column >= 0:
            earlier = int(before[column])
            owner[column] = first if earlier < 0 else owner[earlier]
            column = earlier
    found = np.empty(rows, np.int64)
    found[owner[owner >= 0]] = np.flatnonzero(owner >= 0)
    return found
