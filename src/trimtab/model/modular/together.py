"""Packs of several directions through the model at once: layers that several directions share read their packs as one.

A pack of one direction holds a part of a step, so that each of its kernels has little to do. Joined, the packs of all
directions take the shared layers as one large pack does. The layers of a single language see its packs alone. The slow
twin is one pack after another, by `Modular.translator`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.modular_model import Layers, Route, Side
from trimtab.model.block import Source
from trimtab.model.modular.route_model import RouteModel
from trimtab.model.positions.kind import Positions
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.types import DirectedBatch, PackedBatch, Stream

if TYPE_CHECKING:
    from trimtab.model.modular.modular import Modular

Members = tuple[int, ...]
"""Numbers of packs, in their order."""


class Predicted(NamedTuple):
    """The outputs of the decoders for packs that share an output matrix."""

    hidden: Float[Tensor, "target_tokens dim"]
    output_matrix: Float[Tensor, "rows dim"]
    labels: Int[Tensor, "target_tokens"]


def predicted(model: "Modular", batch: DirectedBatch) -> list[Predicted]:
    """The hidden vectors of all packs of a micro-batch, with one entry for each output matrix."""
    routes = [model.config.route(name) for name, _ in batch.parts]
    translators = [model.translator(name) for name, _ in batch.parts]
    padded = translators[0].padded
    encoded = Joined([pack.source for pack in batch.packs], padded)
    _embed(model, encoded, translators, "encoder")
    _run(model, encoded, routes, "encoder")
    decoded = Joined([pack.target for pack in batch.packs], padded)
    _embed(model, decoded, translators, "decoder")
    _run(model, decoded, routes, "decoder", sources=encoded)
    found: list[Predicted] = []
    for members in _alike([id(each.output_matrix) for each in translators]):
        labels = torch.cat([batch.packs[number].labels for number in members])
        found.append(Predicted(decoded.vectors(members), translators[members[0]].output_matrix, labels))
    return found


@dataclass(slots=True)
class Joined:
    """One side of several packs, of which any can be seen as one."""

    streams: Sequence[Stream]
    padded: bool
    held: dict[Members, Tensor] = field(default_factory=dict[Members, Tensor])
    """Vectors of each pack, of those that were computed together in one tensor."""
    joined: dict[Members, Stream] = field(default_factory=dict[Members, Stream])
    layouts: dict[Members, SequenceLayout] = field(default_factory=dict[Members, SequenceLayout])

    def stream(self, members: Members) -> Stream:
        """The streams of these packs, one after another."""
        if members not in self.joined:
            self.joined[members] = joined([self.streams[number] for number in members])
        return self.joined[members]

    def layout(self, members: Members) -> SequenceLayout:
        """Their sequence layout, which attention needs."""
        if members not in self.layouts:
            self.layouts[members] = sequence_layout(self.stream(members), padded=self.padded)
        return self.layouts[members]

    def vectors(self, members: Members) -> Tensor:
        """Their vectors, one pack after another."""
        if members not in self.held:
            for group in [each for each in self.held if len(each) > 1 and not set(each).isdisjoint(members)]:
                sizes = [len(self.streams[number].ids) for number in group]
                parts = self.held[group].split(sizes)
                self.held |= {(number,): part for number, part in zip(group, parts, strict=True)}
            self.held[members] = torch.cat([self.held[number,] for number in members])
        return self.held[members]

    def put(self, members: Members, vectors: Tensor) -> None:
        """Replaces the vectors of these packs."""
        self.held = {each: held for each, held in self.held.items() if set(each).isdisjoint(members)}
        self.held[members] = vectors


def joined(streams: Sequence[Stream]) -> Stream:
    """Streams one after another as one; their segments stay what they are."""
    if len(streams) == 1:
        return streams[0]
    tokens = segments = 0
    numbers: list[Tensor] = []
    bounds: list[Tensor] = [streams[0].cu_seqlens[:1]]
    for stream in streams:
        numbers.append(stream.segments + segments)
        bounds.append(stream.cu_seqlens[1:] + tokens)
        tokens += len(stream.ids)
        segments += len(stream.cu_seqlens) - 1
    return replace(
        streams[0],
        ids=torch.cat([each.ids for each in streams]),
        positions=torch.cat([each.positions for each in streams]),
        segments=torch.cat(numbers),
        cu_seqlens=torch.cat(bounds),
        max_seqlen=max(each.max_seqlen for each in streams),
        full=0,
    )


def can_be_joined(packs: Sequence[PackedBatch]) -> bool:
    """Whether packs can be seen as one: there are several, and they carry nothing but tokens."""
    plain = all(pack.links is None and pack.target.prefix is None for pack in packs)
    return len(packs) > 1 and plain


def _embed(model: "Modular", side: Joined, translators: Sequence[RouteModel], name: Side) -> None:
    """Puts the first vectors of each pack, those with the same matrix at once."""
    sources = [
        each.embedding if each.source_embedding is None else each.source_embedding for each in translators
    ]
    tables = sources if name == "encoder" else [each.embedding for each in translators]
    for members in _alike(list(map(id, tables))):
        first, stream = translators[members[0]], side.stream(members)
        side.put(members, first.embed_source(stream) if name == "encoder" else first.embed_target(stream))


def _run(
    model: "Modular", side: Joined, routes: Sequence[Route], name: Side, *, sources: Joined | None = None
) -> None:
    """Takes the vectors through the components of their routes, the first of all routes, then the second, and so on."""
    positions: Positions = model.source_positions if name == "encoder" else model.target_positions
    paths: list[tuple[Layers, ...]] = [getattr(route, name) for route in routes]
    for depth in range(max(map(len, paths))):
        for members, part in _steps(paths, depth):
            stack = model.component(name, part.component)
            x, layout = side.vectors(members), side.layout(members)
            inputs = positions.of_stream(side.stream(members))
            given: dict[str, Source] = {}
            if sources is not None:
                given["source"] = Source(sources.vectors(members), layout, sources.layout(members))
            for block in stack.blocks[part.first : part.stop]:
                x = model.after(block, x, layout, inputs, **given)
            side.put(members, x)
            if ended := tuple(number for number in members if len(paths[number]) == depth + 1):
                side.put(ended, stack.norm(side.vectors(ended)))


def _steps(paths: Sequence[tuple[Layers, ...]], depth: int) -> Iterator[tuple[Members, Layers]]:
    """The packs whose paths have the same layers in this place."""
    going = [number for number, path in enumerate(paths) if len(path) > depth]
    for group in _alike([paths[number][depth] for number in going]):
        members = tuple(going[each] for each in group)
        yield members, paths[members[0]][depth]


def _alike(keys: Sequence[object]) -> list[Members]:
    """The numbers of equal keys, in the order in which each first comes."""
    groups: dict[object, list[int]] = {}
    for number, key in enumerate(keys):
        groups.setdefault(key, []).append(number)
    return [tuple(group) for group in groups.values()]
