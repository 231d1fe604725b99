"""The one loop in which a model scores given rows of ids: validation sets, references, texts, pairs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import accumulate, islice, pairwise, zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trimtab.choices import shape_for
from trimtab.data.cut import pack_pairs
from trimtab.decode.teacher_forced import label_log_probabilities
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.inference import LoadedModel
from trimtab.loss.build import build_loss
from trimtab.model.attention_cached import at_any_length
from trimtab.model.kinds import Model
from trimtab.step.precision import Resolved, autocast
from trimtab.types import Batch, PackedBatch, Ragged

Score = Callable[[Any], Tensor]
"""The scores of one batch that is on the device: one number for all of it, or one for each of its rows."""


@torch.no_grad()
def score_rows(
    packs: Iterable[Batch],
    score: Score,
    *,
    device: torch.device,
    precision: Resolved | None,
    ranks: Ranks = ONE_RANK,
) -> list[float]:
    """The scores of all packs, one after another, in float64.

    With `precision`, the run's, products run in half precision where the run's do (`step.precision.autocast`). With
    None they run in the precision of the weights. Several `ranks` take the packs in turn, and each gets all scores.
    """
    with nullcontext() if precision is None else autocast(precision, device):
        found = [
            score(pack.to(device)).double().reshape(-1)
            for pack in islice(packs, ranks.rank, None, ranks.world_size)
        ]
    # Fetched together, so that the device need not wait for the next pack to be made.
    scores: list[float] = torch.cat(found).tolist() if found else []
    if ranks.world_size == 1:
        return scores
    ends = [0, *accumulate(map(len, found))]
    of_ranks = ranks.gather([scores[start:end] for start, end in pairwise(ends)])
    return [
        each for one_of_each in zip_longest(*of_ranks, fillvalue=[]) for pack in one_of_each for each in pack
    ]


def total(scores: Iterable[float]) -> float:
    """The scores added one after another.

    Not by `sum`, which makes up for rounding from Python 3.12 on, so that its last bits depend on the version.
    """
    added = 0.0
    for each in scores:
        added += each
    return added


def row_scores(model: Model, pack: PackedBatch) -> Tensor:
    """The natural log-probability of the targets of each row of a pack that count, summed in float64."""
    found = label_log_probabilities(
        model(pack), model.output_matrix, pack.labels, num_ids=model.num_ids, logit_cap=model.logit_cap
    )
    rows = torch.zeros(len(pack.target.cu_seqlens), dtype=torch.float64, device=found.device)
    rows.index_add_(0, pack.target.segments.clamp(max=len(rows) - 1), found.double())
    return rows[: pack.num_segments]


def sorted_by_length(source: Ragged, target: Ragged) -> np.ndarray:
    """The order in which padded packs are sorted: in packs of rows in this order, of either kind, rows stay where they
    are, so that their scores can be put back."""
    return np.lexsort((source.lengths, target.lengths))


def in_first_order(scores: list[float], order: np.ndarray) -> np.ndarray:
    """Scores of rows in an order of `sorted_by_length`, as the rows were before it."""
    back = np.empty(len(order))
    back[order] = scores
    return back


@torch.inference_mode()
def summed_loss(model: LoadedModel, source: Ragged, target: Ragged, *, prompt: np.ndarray) -> float:
    """The summed loss (nats) of rows of which the first `prompt` target tokens are given, without smoothing."""
    network = model.model
    loss = build_loss(
        model.recipe.loss,
        num_ids=model.tokenizers.target.num_ids,
        device=model.device,
        logit_cap=network.logit_cap,
    )

    def score(pack: PackedBatch) -> Tensor:
        return loss(network(pack), network.output_matrix, pack.labels).loss

    # A loaded model runs in the precision of its weights, half of it on a GPU, though its run may have scored the same
    # rows under autocast, where norms are in float32: their last digits differ.
    packs = _packs(model, source, target, prompt)
    # Padded packs have a length each, for which nothing is to be planned.
    with at_any_length():
        return total(score_rows(packs, score, device=model.device, precision=None))


@torch.inference_mode()
def row_log_probabilities(
    model: LoadedModel, source: Ragged, target: Ragged, *, prompt: np.ndarray | None
) -> np.ndarray:
    """The natural log-probability of each row of target ids after its row of source ids, float64; without the first
    `prompt` tokens of each, which are given."""
    order = sorted_by_length(source, target)
    prompt = None if prompt is None else prompt[order]
    packs = _packs(model, source.take(order), target.take(order), prompt)
    with at_any_length():
        scores = score_rows(
            packs, lambda pack: row_scores(model.model, pack), device=model.device, precision=None
        )
    return in_first_order(scores, order)


def _packs(
    model: LoadedModel, source: Ragged, target: Ragged, prompt: np.ndarray | None
) -> Iterator[PackedBatch]:
    packed = not model.model.padded
    shape = shape_for(model.recipe, (source.lengths, target.lengths), packed=packed)
    yield from pack_pairs(source, target, shape, prompt=prompt, **model.tokenizers.symbols)
