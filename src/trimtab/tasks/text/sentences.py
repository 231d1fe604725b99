"""What an evaluation keeps of each line that it translated: length and score, the texts of the worst and the best, and
where the decoder looked in a few."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trimtab.choices import shape_for
from trimtab.data.cut import pack_pairs
from trimtab.data.valid_set import ValidSet
from trimtab.evaluation.score_rows import score_rows
from trimtab.metrics.chrf import chrf_metric
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.source_attention import watch_source_attention
from trimtab.tasks.text.validation_scores import TranslatedLines
from trimtab.types import PackedBatch

MOST_SHOWN = 8
"""Lines with their text, of the worst and of the best each."""
MOST_CHARACTERS = 600
LONGEST_WORD = 14
"""Characters between spaces, on average, up to which a text is taken to have spaces between words. Finnish and Turkish
have about 8."""
ATTENDED, LONGEST_ATTENDED = 3, 32
"""Sentences whose attention is kept, and the most tokens of a side."""


def sentences_of(parts: Any, model: Any, valid: ValidSet, found: TranslatedLines) -> dict[str, Any]:
    """The line of `sentences.jsonl` for an evaluation, without step and set; scores are chrF of single sentences."""
    metric = chrf_metric()
    scores = [
        round(metric.sentence_score(output, [reference]).score, 1)
        for output, reference in zip(found.outputs, found.references, strict=True)
    ]
    order = sorted(range(len(scores)), key=lambda i: (scores[i], found.lines[i]))
    shown = min(MOST_SHOWN, len(order) // 2)
    unit = unit_of(found.sources)
    return {
        "metric": "chrf",
        "unit": unit,
        "lines": [line + 1 for line in found.lines],
        "words": [len(source.split()) if unit == "words" else len(source) for source in found.sources],
        "scores": scores,
        "worst": [_text(found, scores, i) for i in order[:shown]],
        "best": [_text(found, scores, i) for i in reversed(order[len(order) - shown :])],
        "attention": attention_of(parts, model, valid),
    }


def unit_of(sources: Sequence[str]) -> str:
    """What the length of a line is counted in: words, or characters where the language puts no spaces between words."""
    characters = sum(len(source) for source in sources)
    spaces = sum(len(source.split()) for source in sources)
    return "words" if characters <= LONGEST_WORD * max(1, spaces) else "characters"


def _text(found: TranslatedLines, scores: Sequence[float], i: int) -> dict[str, Any]:
    texts = {"source": found.sources[i], "translation": found.outputs[i], "reference": found.references[i]}
    cut = {name: text[:MOST_CHARACTERS] for name, text in texts.items()}
    return {"line": found.lines[i] + 1, "score": scores[i], **cut}


def attention_of(parts: Any, model: Any, valid: ValidSet) -> list[dict[str, Any]]:
    """Where the last decoder layer looks in the source, a mean over its heads, for a few pairs with their references;
    nothing for models that have no such attention."""
    if not isinstance(model, EncoderDecoder):
        return []
    fits = np.flatnonzero(np.maximum(valid.source.lengths, valid.target.lengths) <= LONGEST_ATTENDED)
    chosen = fits[:ATTENDED]
    if not len(chosen):
        return []
    source, target = valid.source.take(chosen), valid.target.take(chosen)
    symbols = parts.datasets.tokenizers.symbols
    maps: list[list[list[int]]] = []

    def look(pack: PackedBatch) -> Tensor:
        seen: dict[int, Tensor] = {}
        watch_source_attention(model, pack, seen.__setitem__)
        percent = (100 * seen[max(seen)].mean(1)).round().int().tolist()
        shapes = zip(
            pack.target.cu_seqlens.diff().tolist(), pack.source.cu_seqlens.diff().tolist(), strict=True
        )
        rows = [
            [line[:width] for line in row[:height]]
            for row, (height, width) in zip(percent, shapes, strict=False)
        ]
        maps.extend(rows[: pack.num_segments])
        return torch.zeros(pack.num_segments, device=pack.target.ids.device)

    shape = shape_for(parts.recipe, (source.lengths, target.lengths), packed=False)
    packs = pack_pairs(source, target, shape, **symbols)
    try:
        score_rows(packs, look, device=parts.device, precision=parts.precision)
    except RuntimeError:  # such as no memory for it: a picture must not end a run
        return []
    tokenizers = parts.datasets.tokenizers
    return [
        {
            "source": _pieces(tokenizers.source, source.row(number)),
            "target": _pieces(tokenizers.target, target.row(number)),
            "percent": weights,
        }
        for number, weights in enumerate(maps)
    ]


def _pieces(tokenizer: Any, ids: Any) -> list[str]:
    pieces = tokenizer.decode([[each] for each in ids.tolist()])
    return [piece.strip() or "·" for piece in pieces[:-1]] + ["end"]
