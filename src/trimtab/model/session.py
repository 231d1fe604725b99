"""Decoding one token at a time, with keys and values kept: the model's side of greedy and beam search."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.flow import Stream
from trimtab.model.attention_cached import at_any_length
from trimtab.model.attention_padded import pad_rows
from trimtab.model.block import DecoderBlock
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.layout import layout_of
from trimtab.model.position import Rotation, rotation_at
from trimtab.model.prefill import Given, through_at_once


@dataclass(slots=True)
class BlockCache:
    """What one decoder block remembers."""

    keys: Float[Tensor, "hypotheses kv_heads past size"]
    values: Float[Tensor, "hypotheses kv_heads past size"]
    source_keys: Float[Tensor, "rows kv_heads source size"]
    """One for all hypotheses of a row, so that beams neither copy nor reorder them."""
    source_values: Float[Tensor, "rows kv_heads source size"]


class Session:
    """`rows` sources being translated, `width` hypotheses each; see `flow.DecoderSession`."""

    def __init__(self, model: EncoderDecoder, source: Stream, *, rows: int, width: int) -> None:
        self.model, self.rows, self.width, self.past = model, rows, width, 0
        dense = layout_of(source, padded=True)
        encoder = dense if model.kernel == "padded" else layout_of(source, padded=False)
        memory = model.encode(source, encoder)
        self.real = dense.real[:rows, None, None, :]
        self.skipped: Int[Tensor, "hypotheses"] | None = None
        """Slots at the beginning of the cache that hold nothing; None where every slot holds a token."""
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
        stream = Stream(tokens.flatten(), positions, positions, positions.to(torch.int32), 1)
        x = self.model.embed_target(stream)
        rotation = rotation_at(self.model.target_turns, positions)
        for block, cache in zip(self.model.decoder.blocks, self.caches, strict=True):
            x = self.through(block, cache, x, rotation)
        self.past += 1
        logits = F.linear(self.model.decoder.norm(x), self.model.output_matrix)
        return logits[:, : self.model.num_ids].float().view(self.rows, self.width, -1)

    @at_any_length()
    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what all hypotheses of a row begin with, at once, before any step; the first `skipped` of it are no
        tokens, only there to make rows equally long."""
        length = tokens.shape[1]
        places = torch.arange(length, device=tokens.device)
        positions = (places - skipped[:, None]).clamp(min=0).flatten()
        stream = Stream(tokens.flatten(), positions, positions, positions.to(torch.int32), 1)
        x = self.model.embed_target(stream)
        rotation = rotation_at(self.model.target_turns, positions)
        # A token sees those before it, and what is no token only itself: nothing at all would be NaN.
        seen = (places[:, None] >= places) & (places >= skipped[:, None, None])
        seen = (seen | torch.eye(length, dtype=torch.bool, device=tokens.device))[:, None]
        for block, cache in zip(self.model.decoder.blocks, self.caches, strict=True):
            given = Given(seen=seen, real=self.real, source=(cache.source_keys, cache.source_values))
            x, keys, values = through_at_once(block, x, rotation, given)
            cache.keys = keys.repeat_interleave(self.width, 0)
            cache.values = values.repeat_interleave(self.width, 0)
        self.past = length
        self.skipped = skipped.repeat_interleave(self.width)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i goes on from what was hypothesis `parents[i, j]` of the same row."""
        first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
        self._choose((first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only, in this order."""
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

    def through(
        self,
        block: DecoderBlock,
        cache: BlockCache,
        x: Float[Tensor, "hypotheses dim"],
        rotation: Rotation | None,
    ) -> Float[Tensor, "hypotheses dim"]:
        """One decoder block for one token of each hypothesis.

        Heads of queries that share one of keys are asked as further queries of it, so that no cache is ever repeated.
        """
        path, kept = block.path, block.attention.kv_heads
        queries, keys, values = block.attention.project(path.enter(x, block.norm_attention), rotation)
        cache.keys = torch.cat([cache.keys, keys[:, :, None]], dim=2)
        cache.values = torch.cat([cache.values, values[:, :, None]], dim=2)
        grouped = queries.unflatten(1, (kept, -1))
        mixed = F.scaled_dot_product_attention(grouped, cache.keys, cache.values, attn_mask=self.seen)
        x = path.leave(x, block.attention.out(mixed.flatten(1)), block.norm_attention)

        entered = path.enter(x, block.norm_cross)
        queries = block.cross.q(entered).view(self.rows, self.width, kept, -1, block.cross.size)
        grouped = queries.transpose(1, 2).flatten(2, 3)
        mixed = F.scaled_dot_product_attention(
            grouped, cache.source_keys, cache.source_values, attn_mask=self.real
        )
        mixed = mixed.unflatten(2, (self.width, -1)).transpose(1, 2)
        update = block.cross.out(mixed.reshape(len(x), -1))
        x = path.leave(x, update, block.norm_cross)
        update = block.feed_forward(path.enter(x, block.norm_feed_forward))
        return path.leave(x, update, block.norm_feed_forward)


class SessionOpener:
    """A model as decoding sees it: see `flow.Translates`."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> Session:
        """Encodes the source; a hypothesis may grow to `max_length` tokens, at most the model's longest sentence."""
        assert max_length <= self.model.max_positions, (max_length, self.model.max_positions)
        assert math.prod(source.ids.shape) > 0, "a source has at least its end symbol"
        return Session(self.model, source, rows=rows, width=width)
