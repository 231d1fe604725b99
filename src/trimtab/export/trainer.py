"""The trainer's side of a comparison: its scores token by token, its translations, and its texts."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from trimtab.choices import shape_for
from trimtab.data.cut import pack_pairs
from trimtab.data.exact_text import ExactText
from trimtab.decode.continuing import continuations
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.rows import translate_rows
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.decode.stream import stream_of
from trimtab.decode.teacher_forced import label_log_probabilities
from trimtab.export.target import Trained
from trimtab.model.kinds import ContinuesTexts
from trimtab.model.prompted import Prompted
from trimtab.types import Ragged

BATCH_TOKENS = 2048
"""Source tokens that are translated together, for each hypothesis of a row."""


@torch.inference_mode()
def token_log_probabilities(trained: Trained, source: Ragged, target: Ragged) -> list[list[float]]:
    """The natural log-probability of each target token after its row of source ids, all within `max_tokens`."""
    # In the order in which padded packs are sorted, so that packs leave the rows where they are.
    order = np.lexsort((source.lengths, target.lengths))
    source, target = source.take(order), target.take(order)
    network = trained.model
    shape = shape_for(trained.recipe, (source.lengths, target.lengths), packed=network.kernel == "varlen")
    rows: list[list[float]] = []
    for pack in pack_pairs(source, target, shape, **trained.tokenizers.symbols):
        pack = pack.to(network.output_matrix.device)
        found = label_log_probabilities(
            network(pack), network.output_matrix, pack.labels, num_ids=network.num_ids
        )
        ends = pack.target.cu_seqlens[: pack.num_segments + 1].tolist()
        rows += [found[start:end].tolist() for start, end in pairwise(ends)]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return [rows[place] for place in back.tolist()]


def translations(trained: Trained, rows: Sequence[Sequence[int]], *, beam: int) -> list[list[int]]:
    """The best translation of each row of source ids, end symbol included, by the trainer's own beam search."""
    model, target = trained.model, trained.tokenizers.target
    assert model.config.has_encoder, "a language model continues texts"
    setup = TranslationSetup(
        model=model,
        tokenizer=target,
        device=model.output_matrix.device,
        normalise=str,
        max_tokens=trained.recipe.data.max_tokens,
        search=Search(beam=beam),
        batch_tokens=BATCH_TOKENS * beam,
    )
    return [list(each.ids) for each in translate_rows(rows, setup)]


def row_logits(model: ContinuesTexts, rows: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """The logits after each token of each row, `tokens vocabulary`."""
    stream = stream_of(rows, model.output_matrix.device)
    return list(model.logits(model.decode(stream)).split([len(row) for row in rows]))


def greedy_texts(
    model: ContinuesTexts, tokenizer: ExactText, prompts: Sequence[Sequence[int]], *, limits: Sequence[int]
) -> list[list[int]]:
    """What the trainer writes greedily after each prompt, the end symbol included."""
    found: list[list[int]] = [[] for _ in prompts]
    for step in continuations(
        Prompted(model),
        prompts,
        limits=limits,
        symbols=Symbols.of(tokenizer),
        device=model.output_matrix.device,
    ):
        for each in step:
            found[each.row].append(each.id)
    return found
