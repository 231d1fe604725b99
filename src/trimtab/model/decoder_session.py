"""Decoding from prompts one token at a time with a KV cache: a decoder-only model's side of a search."""

from dataclasses import dataclass
from functools import partial

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
from trimtab.model.block import Attend
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.positions.shaw import Relative, attend_biased

FIRST_SLOTS = 64
"""Slots that a cache begins with; it doubles when it is full."""


@dataclass(slots=True)
class Cache:
    """What one block remembers; slots from `past` on hold nothing yet."""

    keys: Float[Tensor, "hypotheses kv_heads slots size"]
    values: Float[Tensor, "hypotheses kv_heads slots size"]
    taken: Bool[Tensor, "hypotheses slots"] | None = None
    """Which slots hold a token that the block's router took, and others may look at; None without a router."""

    def put(self, keys: Tensor, values: Tensor, past: int) -> tuple[Tensor, Tensor]:
        """Writes one token's, each `hypotheses kv_heads size`, into the slot `past`; gives all up to it."""
        if past == self.keys.shape[2]:
            self.keys = torch.cat([self.keys, torch.empty_like(self.keys)], 2)
            self.values = torch.cat([self.values, torch.empty_like(self.values)], 2)
        self.keys[:, :, past], self.values[:, :, past] = keys, values
        return self.keys[:, :, : past + 1], self.values[:, :, : past + 1]

    def take(self, chosen: Tensor) -> None:
        """Goes on with these hypotheses."""
        self.keys, self.values = self.keys[chosen], self.values[chosen]
        self.taken = None if self.taken is None else self.taken[chosen]

    def seen_of(self, takes: Bool[Tensor, "hypotheses"], seen: Tensor | None) -> Tensor:
        """What the next token sees of `seen` in a block with a router, which takes it or not: the tokens before it that
        were taken, and itself, since nothing at all would be NaN."""
        own = takes[:, None]
        self.taken = own if self.taken is None else torch.cat([self.taken, own], 1)
        looked_at = torch.cat([self.taken[:, :-1], torch.ones_like(own)], 1)
        return both_seen(seen, looked_at[:, None, None, :])


class PromptSession:
    """`rows` prompts being written on, `width` hypotheses each; see `types.DecoderSession` and `types.FeedsAtOnce`.
    Texts may grow as long as the model has positions; the caches grow with them.

    A model that reads a prefix in both directions takes as prefix what is fed and the token of the first step, which
    must then be the same for all hypotheses of a row: the next token is predicted from the last of the prefix.
    """

    def __init__(self, model: DecoderOnly, *, rows: int, width: int, prefix: bool = True) -> None:
        """`prefix` says whether what is fed is one, as the source of a translation is, or a text, which even a model
        with prefixes has learned to read causally."""
        self.model, self.rows, self.width, self.past = model, rows, width, 0
        self.short_output: Float[Tensor, "short dim"] | None = None
        """The rows of the output layer that are left where it was cut."""
        self.both_ways = prefix and model.config.prefix == "bidirectional"
        self.waiting: tuple[Int[Tensor, "rows length"], Int[Tensor, "rows"]] | None = None
        """What was fed to a model that must see the rest of the prefix with it, and how much of it is no token."""
        self.skipped: Int[Tensor, "hypotheses"] | None = None
        """Slots at the beginning of the caches that hold nothing; None if every slot holds a token."""
        self.seen: Bool[Tensor, "hypotheses 1 1 past"] | None = None
        """Which slots the next token may look at; None for all."""
        config, weight = model.config, model.embedding.weight
        kept, size = config.kv_heads or config.heads, config.size_of_heads
        shape = rows * width, kept, min(FIRST_SLOTS, model.max_positions), size
        self.caches = [Cache(weight.new_empty(shape), weight.new_empty(shape)) for _ in model.decoder.blocks]

    @at_any_length()
    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        if self.waiting is not None:
            return self._end_prefix(tokens)
        positions = torch.full((tokens.numel(),), self.past, device=tokens.device)
        if self.skipped is not None:
            positions = positions - self.skipped
            slots = torch.arange(self.past + 1, device=tokens.device)
            self.seen = (slots >= self.skipped[:, None])[:, None, None, :]
        # Rows that are done may run on beyond the last position; what they say is not read any more.
        positions = positions.clamp(max=self.model.max_positions - 1)
        x = self.model.embed_target(stream_at(tokens.flatten(), positions))
        rotary = self.model.target_positions.rotate(positions)
        kept = self.caches[0].keys.shape[1]
        bias = next_bias(self.model.target_positions, self.past, own=positions, kv_heads=kept)
        seen = self.seen if bias is None else hidden_by(bias.to(x.dtype), self.seen)
        by_distance = PositionInputs(
            distances=next_distances(self.model.target_positions, self.past, own=positions)
        )
        for block, cache in zip(self.model.decoder.blocks, self.caches, strict=True):
            narrowed = seen if block.depths is None else cache.seen_of(block.depths.takes(x), seen)
            attend = self._next(cache, narrowed, block.attention.added(by_distance))
            x = block.run(x, partial(block.attention.attend_by, attend, rotary=rotary))
        self.past += 1
        return self._logits(x).view(self.rows, self.width, -1)

    @at_any_length()
    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what all hypotheses of a row begin with, at once, before any step; the first `skipped` of it are no
        tokens, only there to make rows equally long."""
        assert self.past == 0, "a session is fed before its first step"
        if self.both_ways:
            self.waiting = tokens, skipped
        else:
            self._fill(tokens, skipped)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
        for cache in self.caches:
            cache.take((first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        offsets = torch.arange(self.width, device=rows.device)
        chosen = (rows[:, None] * self.width + offsets).flatten()
        self.skipped = None if self.skipped is None else self.skipped[chosen]
        self.waiting = None if self.waiting is None else (self.waiting[0][rows], self.waiting[1][rows])
        for cache in self.caches:
            cache.take(chosen)
        self.rows = len(rows)

    def _end_prefix(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        assert self.waiting is not None
        fed, skipped = self.waiting
        self.waiting = None
        last = self._fill(torch.cat([fed, tokens[:, :1]], 1), skipped)
        return self._logits(last)[:, None].repeat_interleave(self.width, 1)

    def _fill(
        self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]
    ) -> Float[Tensor, "rows dim"]:
        """Puts the first tokens of each row through the model at once; gives the hidden vectors of the last ones."""
        rows, length = tokens.shape
        slots = torch.arange(length, device=tokens.device)
        positions = (slots - skipped[:, None]).clamp(min=0)
        x = self.model.embed_target(stream_at(tokens.flatten(), positions.flatten()))
        rotary = self.model.target_positions.rotate(positions.flatten())
        seen = (slots >= skipped[:, None])[:, None].expand(rows, length, length)
        if not self.both_ways:
            seen = seen & (slots[:, None] >= slots)
        # What is no token sees itself alone: nothing at all would be NaN.
        seen = (seen | torch.eye(length, dtype=torch.bool, device=tokens.device))[:, None]
        bias = self.model.target_positions.bias(positions, positions)
        seen = seen if bias is None else hidden_by(bias.to(x.dtype), seen)
        by_distance = PositionInputs(distances=self.model.target_positions.distances(positions, positions))
        for block, cache in zip(self.model.decoder.blocks, self.caches, strict=True):
            narrowed = seen
            if block.depths is not None:
                takes = block.depths.takes(x).view(rows, length)
                cache.taken = takes.repeat_interleave(self.width, 0)
                itself = torch.eye(length, dtype=torch.bool, device=x.device)
                narrowed = both_seen(seen, (takes[:, None, :] | itself)[:, None])
            attend = self._first(cache, narrowed, block.attention.added(by_distance))
            x = block.run(x, partial(block.attention.attend_by, attend, rotary=rotary))
        self.past, self.skipped = length, skipped.repeat_interleave(self.width)
        return x.view(rows, length, -1)[:, -1]

    def _logits(self, x: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens vocabulary"]:
        return next_logits(self.model, x, self.short_output)

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """From now on, `step` gives the logits of these ids alone, in this order."""
        self.short_output = self.model.output_matrix[ids]

    def _next(self, cache: Cache, seen: Tensor | None, relative: Relative | None) -> Attend:
        """Attention of one token of each hypothesis to all before it.

        Heads of queries that share one of keys are asked as further queries of it, so that no cache is ever repeated.
        """

        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            known = cache.put(keys, values, self.past)
            grouped = queries.unflatten(1, (keys.shape[1], -1))
            return attend_biased(grouped, *known, seen=seen, bias=relative).flatten(1, 2)

        return attend

    def _first(self, cache: Cache, seen: Tensor, relative: Relative | None) -> Attend:
        """Attention of the first tokens of each row to each other, whose keys and values all its hypotheses keep."""
        rows, length = len(seen), seen.shape[-1]
        slots = max(cache.keys.shape[2], length)

        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            q, k, v = (each.unflatten(0, (rows, length)).transpose(1, 2) for each in (queries, keys, values))
            padding = 0, 0, 0, slots - length
            cache.keys = F.pad(k, padding).repeat_interleave(self.width, 0)
            cache.values = F.pad(v, padding).repeat_interleave(self.width, 0)
            group = q.shape[1] // k.shape[1]
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            mixed = attend_biased(q, k, v, seen=seen, bias=relative)
            return mixed.transpose(1, 2).flatten(0, 1)

        return attend


def both_seen(seen: Tensor | None, looked_at: Bool[Tensor, "*rows queries keys"]) -> Tensor:
    """The keys that are seen and looked at; `seen` may be a bias with minus infinity where a key is not seen."""
    if seen is None:
        return looked_at
    return seen & looked_at if seen.dtype == torch.bool else hidden_by(seen, looked_at)
