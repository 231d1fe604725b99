"""The trainer's side of a comparison: the log-probability of each token, not only of each sentence."""

from itertools import pairwise

import numpy as np
import torch

from trimtab.choices import shape_for
from trimtab.data.cut import pack_pairs
from trimtab.decode.teacher_forced import label_log_probabilities
from trimtab.flow import Ragged
from trimtab.translator import LoadedModel


@torch.inference_mode()
def token_log_probabilities(model: LoadedModel, source: Ragged, target: Ragged) -> list[list[float]]:
    """The natural log-probability of each target token after its row of source ids, all within `max_tokens`."""
    # In the order in which padded packs are sorted, so that packs leave the rows where they are.
    order = np.lexsort((source.lengths, target.lengths))
    source, target = source.take(order), target.take(order)
    network = model.model
    shape = shape_for(model.recipe, (source.lengths, target.lengths), packed=network.kernel == "varlen")
    rows: list[list[float]] = []
    for pack in pack_pairs(source, target, shape, **model.tokenizers.symbols):
        pack = pack.to(network.output_matrix.device)
        found = label_log_probabilities(
            network(pack), network.output_matrix, pack.labels, num_ids=network.num_ids
        )
        ends = pack.target.boundaries[: pack.num_segments + 1].tolist()
        rows += [found[start:end].tolist() for start, end in pairwise(ends)]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return [rows[place] for place in back.tolist()]
