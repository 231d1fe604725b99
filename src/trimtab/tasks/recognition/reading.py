"""What a model reads in the images of a batch: the best path of CTC, or a greedy search of the decoder."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from trimtab.decode.beam import beam_search
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.loss.ctc import BLANK
from trimtab.tasks.recognition.batches import ImageBatch
from trimtab.tasks.recognition.charset import AnyCharset
from trimtab.tasks.recognition.model import ImageStream, LineReader
from trimtab.tasks.recognition.trocr import AnyReader


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read in one image."""

    text: str
    confidence: float
    """Geometric mean of the probabilities of its characters, 0 to 1; of columns where CTC reads them."""


@torch.inference_mode()
def read_batch(
    model: AnyReader, batch: ImageBatch, charset: AnyCharset, *, head: str, most: int, beam: int = 1
) -> list[Reading]:
    """The text of each image of a batch on the model's device, in order. For the decoder, `most` are the characters
    at most, and `beam` the hypotheses that are followed; 1 is greedy.

    A decoder never writes what is unknown; CTC may, and the symbol is then left out.
    """
    if head == "ctc":
        assert isinstance(model, LineReader), "pretrained recognizers have a decoder alone"
        return _by_columns(model, batch, charset)
    return _by_decoder(model, batch, charset, most, beam)


def _by_columns(model: LineReader, batch: ImageBatch, charset: AnyCharset) -> list[Reading]:
    """The likeliest id of each column, where ids that repeat the one before, and blanks, are left out: the best path of
    Graves et al. 2006, section 3.2."""
    found = model.column_logits(batch, model.read(batch.patches)).float().log_softmax(1).max(1)
    ids, scores = found.indices.cpu().numpy(), found.values.double().cpu().numpy()
    readings, start = [], 0
    for width in batch.widths:
        own, stop = ids[start : start + width], start + width
        kept = (own != BLANK) & np.concatenate([[True], own[1:] != own[:-1]])
        (text,) = charset.decode([own[kept].tolist()])
        mean = float(scores[start:stop].mean()) if width else 0.0
        readings.append(Reading(text, float(np.exp(mean))))
        start = stop
    return readings


def _by_decoder(
    model: AnyReader, batch: ImageBatch, charset: AnyCharset, most: int, beam: int
) -> list[Reading]:
    limits = [min(most, model.max_positions)] * batch.num_segments
    source = ImageStream.of(batch.patches)
    symbols = Symbols.of(charset)
    if beam == 1:
        found = greedy(model, source, limits=limits, symbols=symbols)
    else:
        found = beam_search(model, source, limits=limits, symbols=symbols, search=Search(beam=beam))
    texts = charset.decode([each.ids for each in found])
    return [
        Reading(text, float(np.exp(each.score / each.length)))
        for text, each in zip(texts, found, strict=True)
    ]


def read_all(
    model: AnyReader, batches: Iterable[ImageBatch], charset: AnyCharset, *, head: str, most: int, beam: int
) -> list[Reading]:
    """The texts of all images of these batches, one after another."""
    return [
        each
        for batch in batches
        for each in read_batch(model, batch, charset, head=head, most=most, beam=beam)
    ]
