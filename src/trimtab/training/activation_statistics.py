"""What one forward pass over one validation batch shows: the residual path, feed-forward units, attention."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from trimtab.finding import Finding
from trimtab.model.block import CrossAttention, DecoderBlock, EncoderBlock, SelfAttention
from trimtab.model.feed_forward import FeedForward
from trimtab.model.positions.shaw import Relative, scores_by_distance
from trimtab.model.router import Router
from trimtab.training.context_use import context_use
from trimtab.training.gradient_flow import gradient_flow
from trimtab.training.position_use import position_use
from trimtab.types import PackedBatch
from trimtab.watch.activations import Activations, activations, out_of_bounds
from trimtab.watch.attention import (
    Attention,
    attention_sinks,
    large_logits,
    look_at_attention,
    padded,
    share_of_sinks,
)
from trimtab.watch.attention_places import IDS, Vocabulary, named, shares_of_parts, shares_of_tokens

SIDES = ("encoder", "decoder")
MOST_ROWS, MOST_LOGITS = 16, 1 << 20
"""Sentences whose attention is looked at; and the logits of a head, which bound their number where they may be long."""


@runtime_checkable
class Segmented(Protocol):
    """A batch of segments, as far as it matters here."""

    @property
    def num_segments(self) -> int:
        """Real segments, which come before those that fill its tail."""
        ...

    @property
    def max_seqlen(self) -> int:
        """No segment is longer."""
        ...


@runtime_checkable
class ReadsInStacks(Protocol):
    """A model that can be looked into: it knows what its stacks of layers read."""

    def tokens_read(self, batch: Any) -> dict[str, int]:
        """How many real tokens of a batch each stack of layers reads, by the stack's name."""
        ...


@dataclass(frozen=True, slots=True)
class ActivationStatistics:
    """The numbers, and what of them is out of bounds."""

    activations: Activations
    largest: dict[str, float] = field(default_factory=dict[str, float])
    """Largest attention logit by attention."""
    shares: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """By attention and head, see `watch.attention.Attention`."""
    positions: dict[str, float] = field(default_factory=dict[str, float])
    """See `training.position_use`."""
    context: dict[str, float] = field(default_factory=dict[str, float])
    """See `training.context_use`."""
    gradients: dict[str, float] = field(default_factory=dict[str, float])
    """See `training.gradient_flow`."""
    attention_by_token: dict[str, float] = field(default_factory=dict[str, float])
    """The tokens with most attention, see `watch.attention_places.shares_of_tokens`."""
    source_parts: dict[str, float] = field(default_factory=dict[str, float])
    """The attention of the decoder on each part of the source, see `watch.attention_places.shares_of_parts`."""

    @property
    def scores(self) -> dict[str, float]:
        """What is worth a place in the line of an evaluation."""
        scores = {"activation_rms": self.activations.last}
        if self.activations.dead:
            scores["dead_units"] = max(self.activations.dead.values())
        if self.largest:
            scores["largest_attention_logit"] = max(self.largest.values())
            scores["attention_sinks"] = share_of_sinks(self.shares)
        return scores

    @property
    def findings(self) -> list[Finding]:
        """All that is out of bounds."""
        found = [*out_of_bounds(self.activations), large_logits(self.largest)]
        for side in SIDES:
            shares = {name: share for name, share in self.shares.items() if name.startswith(side)}
            found.append(attention_sinks(shares, side=f"the {side}") if shares else None)
        return [each for each in found if each is not None]


@contextmanager
def watching(
    model: nn.Module, *, sentences: int, vocabulary: Vocabulary = IDS
) -> Generator[list[ActivationStatistics]]:
    """While it is open and the model reads so many sentences of a set, batch by batch, looks at the batch with the
    middle one: the forward pass is one that is made anyway. The list holds one record afterwards, or none if
    no sentence was read.

    `vocabulary` spells the tokens that are named.

    The first batches may hold the shortest sentences of the set, and the last the longest. A model that has no blocks
    of this package is not looked at.
    """
    found: list[ActivationStatistics] = []
    if not isinstance(model, ReadsInStacks) or not blocks_of(model):
        yield found
        return
    with ExitStack() as outer:
        open_now = outer.enter_context(ExitStack())
        read, asked = 0, False

        def before(module: Any, given: Any) -> None:
            nonlocal read
            start, read = read, read + given[0].num_segments
            if start <= sentences // 2 < read and not found:
                found.append(open_now.enter_context(one_pass(module, given[0], vocabulary=vocabulary)))

        def after(module: nn.Module, given: Any, hidden: Any) -> None:
            nonlocal asked
            open_now.close()
            if found and not asked:
                asked = True  # before it, since these passes come here too
                loads = [(each, each.load) for each in module.modules() if isinstance(each, Router)]
                found[0].positions.update(position_use(module, given[0]))
                found[0].context.update(context_use(module, given[0], separator=vocabulary.separator))
                found[0].gradients.update(gradient_flow(module, given[0]))
                for router, load in loads:  # those of the texts as they are
                    router.load = load

        outer.callback(model.register_forward_pre_hook(before).remove)
        outer.callback(model.register_forward_hook(after).remove)
        yield found


@contextmanager
def one_pass(
    model: Any, batch: Segmented, *, vocabulary: Vocabulary = IDS
) -> Generator[ActivationStatistics]:
    """Looks at the one forward pass that is made while it is open; the numbers are there afterwards.

    Compiled blocks must not be looked at: they would be compiled again, with the hooks. An evaluation has none, since
    on a GPU it runs a copy.
    """
    tokens, blocks = model.tokens_read(batch), blocks_of(model)
    maps = {
        f"{name}.feed_forward": block.feed_forward.down
        for name, block in blocks.items()
        if isinstance(block.feed_forward, FeedForward)
    }
    real = {name: tokens[name.partition(".")[0]] for name in (*blocks, *maps)}
    with (
        activations(blocks, maps, tokens=real) as seen,
        attentions(model, rows=rows_of(batch)) as attended,
    ):
        inside = ActivationStatistics(seen)
        yield inside
    if not attended:
        return
    largest = torch.stack([each.largest for each in attended.values()]).tolist()
    shares = torch.cat([each.share for each in attended.values()]).tolist()
    inside.largest.update(zip(attended, largest, strict=True))
    inside.shares.update({name: [shares.pop(0) for _ in each.share] for name, each in attended.items()})
    if isinstance(batch, PackedBatch):
        look_at_places(inside, attended, batch, rows=rows_of(batch), vocabulary=vocabulary)


def look_at_places(
    inside: ActivationStatistics,
    attended: Mapping[str, Attention],
    batch: PackedBatch,
    *,
    rows: int,
    vocabulary: Vocabulary,
) -> None:
    """Which tokens and which parts of the source get the attention; layers whose keys are not those of a stream, as
    behind registers, are left out."""
    kinds = {
        "encoder": lambda name: name.startswith("encoder"),
        "decoder": lambda name: name.startswith("decoder") and not name.endswith(".cross"),
        "source": lambda name: name.endswith(".cross"),
    }
    for kind, is_of in kinds.items():
        stream = batch.target if kind == "decoder" else batch.source
        bounds = stream.cu_seqlens[: rows + 1]
        received = [each.received for name, each in attended.items() if is_of(name)]
        received = [each for each in received if each.shape[1] == stream.max_seqlen]
        piece = vocabulary.target if kind == "decoder" else vocabulary.source
        inside.attention_by_token.update(
            named(shares_of_tokens(received, stream.ids, bounds, piece=piece), kind)
        )
        if kind == "source":
            inside.source_parts.update(shares_of_parts(received, bounds))


def blocks_of(model: nn.Module) -> dict[str, EncoderBlock | DecoderBlock]:
    """The layers of a model by their names."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, EncoderBlock | DecoderBlock)
    }


def rows_of(batch: Segmented) -> int:
    """How many of a batch's segments are looked at, at least one."""
    return min(MOST_ROWS, batch.num_segments, max(1, MOST_LOGITS // batch.max_seqlen**2))


@contextmanager
def attentions(model: nn.Module, *, rows: int) -> Generator[dict[str, Attention]]:
    """While it is open, every attention of the model is looked at when it runs, by its name."""
    found: dict[str, Attention] = {}
    with ExitStack() as hooks:
        # Behind a router, tokens have other places than in the text.
        routed = {
            id(each.attention)
            for each in model.modules()
            if isinstance(each, DecoderBlock) and each.depths is not None
        }
        for name, module in model.named_modules():
            if isinstance(module, SelfAttention | CrossAttention) and id(module) not in routed:
                hook = attention_hook(name, found, rows=rows)
                hooks.callback(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
        yield found


def attention_hook(name: str, found: dict[str, Attention], *, rows: int) -> Callable[[Any, Any, Any], None]:
    """Computes queries and keys of the first rows a second time, from what the sub-layer is given: no kernel gives
    logits out."""

    def hook(module: SelfAttention | CrossAttention, given: Any, options: Any) -> None:
        bias = None
        match module:
            case SelfAttention():
                x, of, positions = given
                to, count = of, int(of.cu_seqlens[rows])
                rotary = positions.rotary and positions.rotary.first(count)
                queries, keys, _ = module.project(x[:count], rotary)
                bias = module.added(positions)
                if isinstance(bias, Relative):
                    asked, _ = padded(queries.float(), of.cu_seqlens[: rows + 1], of.max_seqlen)
                    bias = scores_by_distance(asked.transpose(1, 2), bias)
            case CrossAttention():
                x, memory, of, to = given
                x, memory = x[: int(of.cu_seqlens[rows])], memory[: int(to.cu_seqlens[rows])]
                queries = module.q(x).view(len(x), module.heads, module.size)
                keys, _ = module.keys_values(memory)
        found[name] = look_at_attention(
            queries,
            keys,
            of=of.cu_seqlens[: rows + 1],
            to=to.cu_seqlens[: rows + 1],
            max_seqlen=(of.max_seqlen, to.max_seqlen),
            causal=options.get("causal", False),
            bias=bias,
        )

    return hook
