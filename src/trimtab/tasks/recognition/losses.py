"""The losses of the heads: CTC over columns, cross-entropy of characters, or both."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.loss.build import Loss
from trimtab.loss.ctc import ctc_losses
from trimtab.tasks.recognition.batches import ImageBatch
from trimtab.tasks.recognition.model import LineReader
from trimtab.tasks.recognition.trocr import AnyReader
from trimtab.types import LossOutput


class ReadingLoss:
    """Summed over the characters of a batch; see `tasks.task.ComputesLoss`. The loss of a decoder is that of its
    characters; with both heads the objective has CTC in it too."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.loss.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.loss.truncating = value

    def __call__(self, model: AnyReader, batch: ImageBatch) -> LossOutput:
        """Summed over the targets of a batch: characters and the ends of texts."""
        memory, config = model.read(batch.patches), model.config
        if isinstance(model, LineReader) and not config.has_decoder:
            total = ctc_of_batch(model, batch, memory).sum()
            return LossOutput(total, total.detach())
        found = self.loss(model.write(batch, memory), model.output_matrix, batch.labels)
        if not isinstance(model, LineReader) or not model.config.has_ctc:
            return found
        share, ctc = model.config.ctc_weight, ctc_of_batch(model, batch, memory).sum()
        return replace(found, objective=(1 - share) * found.objective + share * ctc)


def ctc_of_batch(
    model: LineReader, batch: ImageBatch, memory: Float[Tensor, "patches dim"]
) -> Float[Tensor, "images"]:
    """Nats of each text by the CTC head."""
    logits = model.column_logits(batch, memory)
    found = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(1)
    longest = max(batch.widths)
    slots = column_slots(batch, longest)
    padded = found.new_zeros(batch.num_segments * longest, found.shape[1]).index_copy(0, slots, found)
    rows = padded.view(batch.num_segments, longest, -1).transpose(0, 1)
    return ctc_losses(rows, padded_texts(batch), widths=batch.widths, lengths=batch.lengths)


def column_slots(batch: ImageBatch, longest: int) -> Int[Tensor, "columns"]:
    """Where each column goes in rows of `longest`: image × longest + column, one image after another."""
    stream, used = batch.patches.stream, batch.num_patches
    if len(set(batch.heights)) == 1:
        height = batch.heights[0]
        return stream.segments[:used:height] * longest + batch.patches.columns[:used:height]
    widths = torch.tensor(batch.widths, device=batch.device)
    images = torch.arange(len(widths), device=batch.device).repeat_interleave(
        widths, output_size=sum(batch.widths)
    )
    before = torch.cat([widths.new_zeros(1), widths.cumsum(0)[:-1]])
    own = torch.arange(sum(batch.widths), device=batch.device) - before[images]
    return images * longest + own


def padded_texts(batch: ImageBatch) -> Int[Tensor, "images longest"]:
    """The ids of each text in a row, its end symbol too, which lies beyond its length."""
    longest, used = max(batch.lengths) + 1, batch.num_targets
    slots = batch.text.segments[:used] * longest + batch.text.positions[:used]
    rows = batch.labels.new_zeros(batch.num_segments * longest).index_copy(0, slots, batch.labels[:used])
    return rows.view(batch.num_segments, longest)
