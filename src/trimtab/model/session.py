"""Decoding one token at a time with a KV cache: the model's side of greedy and beam search."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.model.attention_cached import (
    at_any_length,
    hidden_by,
    next_bias,
    next_distances,
    next_logits,
    stream_at,
)
from trimtab.model.attention_padded import pad_rows
from trimtab.model.block import Attend
from trimtab.model.positions.kind import PositionInputs, Positions
from trimtab.model.positions.shaw import Relative, attend_biased
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.model.stack import Stack
from trimtab.types import Stream


@runtime_checkable
class ReadsSource(Protocol):
    """A model whose decoder attends to what an encoder made of a source: of text, or of images."""

    config: Any
    """Whose `decoder` has the settings of the decoder's layers."""
    decoder: Stack
    target_positions: Positions
    max_positions: int
    num_ids: int

    @property
    def padded(self) -> bool:
        """Whether attention runs over padded rows."""
        ...

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """What the decoder's output is scored by."""
        ...

    def encode(self, stream: Stream, layout: SequenceLayout) -> Float[Tensor, "source_tokens width"]:
        """The encoder's output for each slot of the source."""
        ...

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the target tokens with what their positions add."""
        ...


@dataclass(slots=True)
class BlockCache:
    """What one decoder block remembers."""

    keys: Float[Tensor, "hypotheses kv_heads past size"]
    values: Float[Tensor, "hypotheses kv_heads past size"]
    source_keys: Float[Tensor, "rows kv_heads source size"]
    """One for all hypotheses of a row, so that beams neither copy nor reorder them."""
    source_values: Float[Tensor, "rows kv_heads source size"]


class Session:
    """`rows` sources being translated, `width` hypotheses each; see `types.DecoderSession`."""

    def __init__(self, model: ReadsSource, source: Stream, *, rows: int, width: int) -> None:
        self.model, self.rows, self.width, self.past = model, rows, width, 0
        self.short_output: Float[Tensor, "short dim"] | None = None
        """The rows of the output layer that are left where it was cut."""
        dense = sequence_layout(source, padded=True)
        encoder = dense if model.padded else sequence_layout(source, padded=False)
        memory = model.encode(source, encoder)
        self.real = dense.real[:rows, None, None, :]
        self.skipped: Int[Tensor, "hypotheses"] | None = None
        """Slots at the beginning of the cache that hold nothing; None if every slot holds a token."""
        self.seen: Bool[Tensor, "hypotheses 1 1 past"] | None = None
        """Which slots the next token may look at; None for all."""
        self.caches: list[BlockCache] = []
        for block in model.decoder.blocks:
            keys, values = block.cross.keys_values(memory)
            empty = keys.new_empty(rows * width, keys.shape[1], 0, keys.shape[2])
            self.caches.append(
                BlockCache(empty, empty, pad_rows(keys, dense)[:rows], pad_rows(values, dense)[:rows])
            )

    @at_any_length()
    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        positions = torch.full((tokens.numel(),), self.past, device=tokens.device)
        if self.skipped is not None:
            # Rows that are done may run on beyond the last position; what they say is not read any more.
            positions = (positions - self.skipped).clamp(max=self.model.max_positions - 1)
            slots = torch.arange(self.past + 1, device=tokens.device)
            self.seen = (slots >= self.skipped[:, None])[:, None, None, :]
        x = self.model.embed_target(stream_at(tokens.flatten(), positions))
        rotary = self.model.target_positions.rotate(positions)
        kept = self.model.config.decoder.kv_heads
        bias = next_bias(self.model.target_positions, self.past, own=positions, kv_heads=kept)
        seen = self.seen if bias is None else hidden_by(bias.to(x.dtype), self.seen)
        by_distance = PositionInputs(
            distances=next_distances(self.model.target_positions, self.past, own=positions)
        )
        for block, cache in zip(self.model.decoder.blocks, self.caches, strict=True):
            relative = block.attention.added(by_distance)
            attend_self, attend_source = self._next(cache, seen, relative), self._from_source(cache)
            x = block.run(
                x,
                partial(block.attention.attend_by, attend_self, rotary=rotary),
                partial(block.cross.attend_by, attend_source),
            )
        self.past += 1
        logits = next_logits(self.model, x, self.short_output)
        return logits.view(self.rows, self.width, -1)

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """From now on, `step` gives the logits of these ids alone, in this order."""
        self.short_output = self.model.output_matrix[ids]

    @at_any_length()
    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what all hypotheses of a row begin with, at once, before any step; the first `skipped` of it are no
        tokens, only there to make rows equally long."""
        length = tokens.shape[1]
        slots = torch.arange(length, device=tokens.device)
        positions = (slots - skipped[:, None]).clamp(min=0)
        x = self.model.embed_target(stream_at(tokens.flatten(), positions.flatten()))
        rotary = self.model.target_positions.rotate(positions.flatten())
        # A token sees those before it, and what is no token only itself: nothing at all would be NaN.
        seen = (slots[:, None] >= slots) & (slots >= skipped[:, None, None])
        seen = (seen | torch.eye(length, dtype=torch.bool, device=tokens.device))[:, None]
        bias = self.model.target_positions.bias(positions, positions)
        seen = seen if bias is None else hidden_by(bias.to(x.dtype), seen)
        by_distance = PositionInputs(distances=self.model.target_positions.distances(positions, positions))
        for block, cache in zip(self.model.decoder.blocks, self.caches, strict=True):
            relative = block.attention.added(by_distance)
            attend_self, attend_source = (
                self._first(cache, seen, relative),
                self._first_from_source(cache),
            )
            x = block.run(
                x,
                partial(block.attention.attend_by, attend_self, rotary=rotary),
                partial(block.cross.attend_by, attend_source),
            )
        self.past = length
        self.skipped = skipped.repeat_interleave(self.width)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
        self._choose((first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        offsets = torch.arange(self.width, device=rows.device)
        chosen = (rows[:, None] * self.width + offsets).flatten()
        self.real = self.real[rows]
        self.skipped = None if self.skipped is None else self.skipped[chosen]
        self._choose(chosen)
        for cache in self.caches:
            cache.source_keys, cache.source_values = cache.source_keys[rows], cache.source_values[rows]
        self.rows = len(rows)

    def _choose(self, hypotheses: Int[Tensor, "chosen"]) -> None:
        for cache in self.caches:
            # On a CPU this copies whole hypotheses, where indexing copies number by number.
            cache.keys, cache.values = (
                each.index_select(0, hypotheses) for each in (cache.keys, cache.values)
            )

    def _next(self, cache: BlockCache, seen: Tensor | None, relative: Relative | None) -> Attend:
        """Attention of one token of each hypothesis to all before it.

        Heads of queries that share one of keys are asked as further queries of it, so that no cache is ever repeated.
        """

        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            cache.keys = torch.cat([cache.keys, keys[:, :, None]], dim=2)
            cache.values = torch.cat([cache.values, values[:, :, None]], dim=2)
            grouped = queries.unflatten(1, (keys.shape[1], -1))
            mixed = attend_biased(grouped, cache.keys, cache.values, seen=seen, bias=relative)
            return mixed.flatten(1, 2)

        return attend

    def _from_source(self, cache: BlockCache) -> Callable[[Tensor], Tensor]:
        """Attention of one token of each hypothesis to the source of its row."""

        def attend(queries: Tensor) -> Tensor:
            return attend_shared_source(
                queries, cache.source_keys, cache.source_values, width=self.width, mask=self.real
            )

        return attend

    def _first(self, cache: BlockCache, seen: Tensor, relative: Relative | None) -> Attend:
        """Attention of the first tokens of each row to each other, whose keys and values all its hypotheses keep."""

        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            q, k, v = (each.unflatten(0, (len(seen), -1)).transpose(1, 2) for each in (queries, keys, values))
            cache.keys = k.repeat_interleave(self.width, 0)
            cache.values = v.repeat_interleave(self.width, 0)
            return attend_rows(q, k, v, seen, relative)

        return attend

    def _first_from_source(self, cache: BlockCache) -> Callable[[Tensor], Tensor]:
        """Attention of the first tokens of each row to its source."""

        def attend(queries: Tensor) -> Tensor:
            q = queries.unflatten(0, (self.rows, -1)).transpose(1, 2)
            return attend_rows(q, cache.source_keys, cache.source_values, self.real)

        return attend


def attend_rows(
    queries: Float[Tensor, "rows heads length size"],
    keys: Float[Tensor, "rows kv_heads keys size"],
    values: Float[Tensor, "rows kv_heads keys size"],
    seen: Tensor,
    relative: Relative | None = None,
) -> Float[Tensor, "tokens heads size"]:
    """Attention of several tokens of each row, row after row in the result."""
    group = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1)
    mixed = attend_biased(queries, keys, values, seen=seen, bias=relative)
    return mixed.transpose(1, 2).flatten(0, 1)


def attend_shared_source(
    queries: Float[Tensor, "hypotheses heads size"],
    keys: Float[Tensor, "rows kv_heads source size"],
    values: Float[Tensor, "rows kv_heads source size"],
    *,
    width: int,
    mask: Tensor,
) -> Float[Tensor, "hypotheses heads size"]:
    """Attention of one token of each of `width` hypotheses to the source of their row.

    Hypotheses, and heads of queries that share one of keys, are asked as further queries, so that no key is repeated.
    """
    grouped = queries.view(len(keys), width, keys.shape[1], -1, queries.shape[2])
    grouped = grouped.transpose(1, 2).flatten(2, 3)
    mixed = F.scaled_dot_product_attention(grouped, keys, values, attn_mask=mask)
    mixed = mixed.unflatten(2, (width, -1)).transpose(1, 2)
    return mixed.reshape(queries.shape)
