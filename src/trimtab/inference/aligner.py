"""Word alignments of pairs of lines, read from the attention of the decoder to the source."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.choices import shape_for
from trimtab.config.run import Recipe
from trimtab.data.cut import pack_pairs
from trimtab.data.reference_rows import reference_rows
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.words import begins_word, num_words, words_of
from trimtab.errors import InputError, input_error
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.module.x_transformers import XTranslator
from trimtab.model.source_attention import watch_source_attention
from trimtab.types import PackedBatch, Ragged

Own = TypeVar("Own")
Links = list[tuple[int, int]]
"""Words of a source and of its translation that belong together, numbered from 0, by the words of the source."""
MOST_WARNINGS = 3
"""Lines without alignments of which the log warns."""


@dataclass(frozen=True, slots=True)
class AttentionHead:
    """Where in the decoder alignments are read."""

    layer: int
    """Counted from 1, the layer nearest to the embeddings."""
    head: int | None
    """Counted from 1; None for the mean of all heads."""
    reads: bool
    """Whether a token is aligned by the attention where the decoder reads it, or, with False, where it predicts it."""


@dataclass(slots=True)
class Aligner:
    """A model that aligns the words of pairs."""

    model: EncoderDecoder
    recipe: Recipe
    tokenizers: Tokenizers
    tags: tuple[str, ...]
    head: AttentionHead
    source_begins: Bool[np.ndarray, "source_ids"]
    target_begins: Bool[np.ndarray, "target_ids"]
    """For each id, whether it begins a word."""
    num_unaligned: int = 0
    """Pairs that could not be aligned so far; their links are none."""
    num_pairs: int = 0
    """Pairs so far."""

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> list[Links]:
        """The links of each pair: every word of the translation is linked to the words of the source that its tokens
        attend to most; where that is the end of the source, it has no link.

        No links where the tokenizer sees other words than white space separates, or the pair is longer than the model
        reads; the log warns of the first of them.
        """
        rows = reference_rows(self.recipe, self.tokenizers, sources, translations, tags=self.tags)
        fits = rows.fits
        tokens = self._chosen_tokens(rows.source.take(fits), rows.target.take(fits))
        chosen = dict(zip(fits.tolist(), tokens, strict=True))
        found: list[Links] = []
        for number, pair in enumerate(zip(sources, translations, strict=True)):
            source = words_of(rows.source.row(number), self.source_begins, num_tags=len(self.tags))
            target = words_of(rows.target.row(number), self.target_begins)
            counts = num_words(source), num_words(target)
            if number in chosen and counts == tuple(len(text.split()) for text in pair):
                found.append(word_links(chosen[number], source, target))
            else:
                sides = int(rows.source.lengths[number]), int(rows.target.lengths[number])
                self._warn(pair, line=self.num_pairs + number + 1, sides=sides, fits=number in chosen)
                found.append([])
        self.num_pairs += len(found)
        return found

    def _chosen_tokens(self, source: Ragged, target: Ragged) -> list[Int[np.ndarray, "targets"]]:
        """For each target token of each row but the end symbol, the source token that it attends to most."""
        if not len(source):
            return []
        order = np.lexsort((source.lengths, target.lengths))
        shape = shape_for(self.recipe, (source.lengths, target.lengths), packed=False)
        packs = pack_pairs(source.take(order), target.take(order), shape, **self.tokenizers.symbols)
        found = [chosen for pack in packs for chosen in self._of_pack(pack)]
        back = np.argsort(order)
        return [found[place] for place in back]

    @torch.inference_mode()
    def _of_pack(self, pack: PackedBatch) -> Iterator[Int[np.ndarray, "targets"]]:
        at: dict[int, Tensor] = {}
        watch_source_attention(
            self.model, pack.to(self.model.output_matrix.device), at.__setitem__, until=self.head.layer
        )
        best = self._weights(at[self.head.layer]).argmax(-1).cpu().numpy()
        lengths = pack.target.cu_seqlens.diff().tolist()
        first = 1 if self.head.reads else 0
        for row, length in enumerate(lengths):
            yield best[row, first : first + length - 1]

    def _weights(
        self, attention: Float[Tensor, "rows heads targets sources"]
    ) -> Float[Tensor, "rows targets sources"]:
        head = self.head.head
        return attention.mean(1) if head is None else attention[:, head - 1]

    def _warn(self, pair: tuple[str, str], *, line: int, sides: tuple[int, int], fits: bool) -> None:
        """Says why a pair has no links: `line` is its number from 1, `sides` are the tokens of source and target."""
        if not any(text.split() for text in pair):
            return
        self.num_unaligned += 1
        if self.num_unaligned > MOST_WARNINGS:
            return
        most, side = self.recipe.data.max_tokens, "source" if sides[0] >= sides[1] else "translation"
        why = (
            "its words are not those of the tokenizer"
            if fits
            else f"the {side} has {max(sides)} tokens, and the model reads {most} (data.max_tokens)"
        )
        more = "; further pairs are not reported" if self.num_unaligned == MOST_WARNINGS else ""
        logging.getLogger("trimtab").warning(
            "no alignment of line %d, %r: %s%s", line, pair[0][:60], why, more
        )


def word_links(
    chosen: Int[np.ndarray, "tokens"], source: Int[np.ndarray, "sources"], target: Int[np.ndarray, "targets"]
) -> Links:
    """The words of tokens that were chosen for those of the target; -1 are no words."""
    pairs = zip(source[chosen].tolist(), target[: len(chosen)].tolist(), strict=True)
    return sorted({pair for pair in pairs if min(pair) >= 0})


def in_blocks(items: Iterable[Own], size: int) -> Iterator[list[Own]]:
    """So many items at a time; where reading fails, those before are given first, then the error is raised."""
    block: list[Own] = []
    try:
        for item in items:
            block.append(item)
            if len(block) == size:
                yield block
                block = []
    except Exception:
        if block:
            yield block
        raise
    if block:
        yield block


def render_links(links: Links) -> str:
    """`0-0 1-2 2-1`: the Pharaoh format, which fast_align, Marian and Moses use."""
    return " ".join(f"{source}-{target}" for source, target in links)


def aligner_for(
    model: object,
    recipe: Recipe,
    tokenizers: Tokenizers,
    tags: tuple[str, ...],
    *,
    head: AttentionHead | None = None,
) -> Aligner:
    """The aligner of a model, by the head that its training guided, or the layer that usually aligns best. InputError
    for a model without attention to a source."""
    match model:
        case EncoderDecoder():
            return _aligner(model, recipe, tokenizers, tags, head=head)
        case Seq2SeqModule():
            raise no_aligner(
                "a pretrained model that transformers computes, which does not show its attention",
                fix="align with a run that trimtab trained from nothing on the same languages",
            )
        case XTranslator():
            raise no_aligner(
                "a model that x-transformers computes, which does not show its attention",
                fix="align with a run of `model: {kind: encoder_decoder}` on the same languages",
            )
        case _:
            raise no_aligner(f"a model with `task: {recipe.task}`")


def _aligner(
    model: EncoderDecoder,
    recipe: Recipe,
    tokenizers: Tokenizers,
    tags: tuple[str, ...],
    *,
    head: AttentionHead | None,
) -> Aligner:
    return Aligner(
        model,
        recipe,
        tokenizers,
        tags,
        head or usual_head(recipe, len(model.decoder.blocks)),
        begins_word(tokenizers.source),
        begins_word(tokenizers.target),
    )


def usual_head(recipe: Recipe, layers: int) -> AttentionHead:
    """The guided head of a recipe that has one; otherwise the mean of all heads of the last layer but one, as Garg et
    al. 2019 read it. (Where a token is read, as Chen et al. 2020, arXiv 2004.14837, do, small models aligned worse:
    `benchmarks/word_alignments.py`.)"""
    guided = recipe.loss.guided_alignment
    if guided is not None:
        return AttentionHead(guided.layer_of(layers), guided.head, reads=False)
    return AttentionHead(max(1, layers - 1), None, reads=False)


def no_aligner(
    got: str,
    *,
    fix: str = "align with the run itself; in Python, `load_translator(RUN).align(sources, translations)` aligns "
    "translations from anywhere",
) -> InputError:
    """The error for what gives no alignments."""
    return input_error(
        "alignments: only the attention of one encoder-decoder to its source gives them",
        got=got,
        allowed="one run of `task: translation`, not an export and no ensemble",
        fix=fix,
    )
