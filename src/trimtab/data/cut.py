"""Cuts a window into packs: evenly where that fits, with care where it does not."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from trimtab.arguments import instance_of, wrong
from trimtab.data.pack import assemble
from trimtab.data.shape import PackShape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.errors import input_error
from trimtab.types import PackedBatch, Ragged, TokenLinks

FULL_SHARES = 4
"""Packs begin with a multiple of so great a share of the full rows that fit: none, a quarter, a half ..."""


def cut(
    window: TextGlobalBatch,
    shape: PackShape,
    *,
    start_symbol: int,
    pad_symbol: int,
    source_pad_symbol: int | None = None,
) -> list[PackedBatch]:
    """The window in `shape.num_packs` packs that hold about as many target tokens; no pack is empty.

    Fewer packs where there are too few examples for so many, more where the window does not fit into so many.
    """
    prompt = np.zeros(len(window.target), np.int32) if window.prompt is None else window.prompt
    rows = _ordered(Rows(window.source, window.target, prompt, window.links), shape)
    bounds = _even_bounds(rows.target.offsets, shape.num_packs)
    if _fits(rows.source, rows.target, bounds, shape):
        pieces = _runs(rows, bounds)
    elif shape.sort:
        # Longest first would throw long and short rows together.
        pieces = _runs(rows, _greedy_bounds(rows.source, rows.target, shape))
    else:
        groups = _largest_first(rows.source.lengths, rows.target.lengths, shape)
        pieces = [rows.take(group) for group in groups]
    symbols = {
        "start_symbol": start_symbol,
        "pad_symbol": pad_symbol,
        "source_pad_symbol": source_pad_symbol,
    }
    full = 0
    if shape.fixed and shape.full_first and not shape.has_source and not shape.prefix:
        pieces = [piece.full_first(shape.target_max_seqlen) for piece in pieces]
        full = common_full_rows(pieces, shape)
    return [piece.assembled(shape, full=full, **symbols) for piece in pieces]


def pack_pairs(
    source: Ragged,
    target: Ragged,
    shape: PackShape,
    *,
    start_symbol: int,
    pad_symbol: int,
    source_pad_symbol: int | None = None,
    prompt: np.ndarray | None = None,
) -> Iterator[PackedBatch]:
    """A whole set in as few packs as its order allows, such as a validation set; sorted first if the shape says so.

    `prompt` says how many leading target tokens of each pair do not count; none by default.
    InputError for a pair that is longer than a pack's longest segment, and for sides or prompts that are not as many.
    """
    check_sides(source, target, prompt, shape)
    lengths = (
        ("source", source.lengths, shape.source_max_seqlen),
        ("target", target.lengths, shape.target_max_seqlen),
    )
    for side, found, longest in lengths:
        if (found > longest).any():
            number = int(np.argmax(found > longest))
            raise input_error(
                f"pair {number + 1}: its {side} is too long for a pack",
                got=f"{found[number]} tokens",
                allowed=f"at most {longest}",
                fix="raise data.max_tokens",
            )
    prompt = np.zeros(len(target), np.int32) if prompt is None else prompt
    rows = _ordered(Rows(source, target, prompt), shape)
    pieces = _runs(rows, _greedy_bounds(rows.source, rows.target, shape))
    symbols = {
        "start_symbol": start_symbol,
        "pad_symbol": pad_symbol,
        "source_pad_symbol": source_pad_symbol,
    }
    return (piece.assembled(shape, **symbols) for piece in pieces)


def check_sides(source: Ragged, target: Ragged, prompt: np.ndarray | None, shape: PackShape) -> None:
    """Raises InputError where the sides are no pairs: a pack would hold as many as the shorter one has."""
    for name, side in (("source", source), ("target", target)):
        instance_of(
            side,
            Ragged,
            name=f"pack_pairs: {name}",
            allowed="a Ragged",
            fix="Ragged.of([[5, 6], [7]]), rows of ids",
        )
    instance_of(
        shape, PackShape, name="pack_pairs: shape", allowed="a PackShape", fix="make it with plan_shape"
    )
    fix = "pass both sides of the same pairs, in the same order"
    if len(source) != len(target):
        got = f"{len(source)} sources and {len(target)} targets"
        raise wrong("pack_pairs", "sources and targets are not as many", got=got, allowed="pairs", fix=fix)
    if prompt is not None and len(prompt) != len(target):
        got = f"{len(prompt)} prompt lengths for {len(target)} pairs"
        raise wrong(
            "pack_pairs: prompt", "is of another length", got=got, allowed="one for each pair", fix=fix
        )
    if not shape.has_source and source.values.size:
        got = f"{source.values.size} source tokens, and a shape for none"
        raise wrong(
            "pack_pairs: shape",
            "has no source slots",
            got=got,
            allowed="a shape that was planned from lengths of both sides",
            fix="pass (source.lengths, target.lengths) to plan_shape",
        )


class Rows(NamedTuple):
    """Examples on their way into packs."""

    source: Ragged
    target: Ragged
    prompt: np.ndarray
    """How many leading target tokens do not count."""
    links: Ragged | None = None
    """Aligned tokens, target and source in turn."""

    def take(self, order: np.ndarray) -> "Rows":
        """These rows, in this order."""
        links = None if self.links is None else self.links.take(order)
        return Rows(self.source.take(order), self.target.take(order), self.prompt[order], links)

    def between(self, start: int, stop: int) -> "Rows":
        """The rows start to stop."""
        links = None if self.links is None else self.links.between(start, stop)
        return Rows(
            self.source.between(start, stop), self.target.between(start, stop), self.prompt[start:stop], links
        )

    def full_first(self, longest: int) -> "Rows":
        """The same rows, those with as many targets as a segment may have before the others."""
        return self.take(np.argsort(self.target.lengths < longest, kind="stable"))

    def assembled(self, shape: PackShape, *, full: int = 0, **symbols: Any) -> PackedBatch:
        """The pack of them, whose first `full` rows are as long as a segment may be."""
        pack = assemble(self.source, self.target, shape, prompt=self.prompt, **symbols)
        if full:
            pack = replace(pack, target=replace(pack.target, full=full))
        if self.links is None:
            return pack
        return replace(pack, links=pack_links(self.links, self.source, self.target, shape))


def common_full_rows(pieces: list[Rows], shape: PackShape) -> int:
    """How many rows are full, and come first, in each of these packs: a multiple of a quarter of what fits, so that few
    different numbers come, each of which is compiled and recorded by itself."""
    most = shape.target_slots // shape.target_max_seqlen
    unit = -(-most // FULL_SHARES)
    fewest = min(int((piece.target.lengths == shape.target_max_seqlen).sum()) for piece in pieces)
    return fewest // unit * unit


def _ordered(rows: Rows, shape: PackShape) -> Rows:
    return rows.take(np.lexsort((rows.source.lengths, rows.target.lengths))) if shape.sort else rows


def _even_bounds(ends: np.ndarray, num_packs: int) -> np.ndarray:
    """Where to cut so that each piece has about the same number of targets: at the nearest end of an example."""
    goals = ends[-1] * np.arange(1, num_packs) / num_packs
    after = np.searchsorted(ends, goals)
    nearest = after - (goals - ends[np.maximum(after - 1, 0)] < ends[after] - goals)
    return np.unique(np.concatenate([[0], nearest, [len(ends) - 1]]))


def _greedy_bounds(source: Ragged, target: Ragged, shape: PackShape) -> np.ndarray:
    """Where to cut so that each piece takes what fits of the rest."""
    bounds = [0]
    while bounds[-1] < len(target):
        start = bounds[-1]
        source_stop = (
            np.searchsorted(source.offsets, source.offsets[start] + shape.source_capacity, side="right") - 1
        )
        target_stop = (
            np.searchsorted(target.offsets, target.offsets[start] + shape.target_capacity, side="right") - 1
        )
        bounds.append(int(min(source_stop, target_stop, start + shape.segment_capacity)))
        assert bounds[-1] > start, "an example is longer than a pack"
    return np.asarray(bounds)


def _fits(source: Ragged, target: Ragged, bounds: np.ndarray, shape: PackShape) -> bool:
    return bool(
        (np.diff(source.offsets[bounds]) <= shape.source_capacity).all()
        and (np.diff(target.offsets[bounds]) <= shape.target_capacity).all()
        and (np.diff(bounds) <= shape.segment_capacity).all()
    )


def _runs(rows: Rows, bounds: np.ndarray) -> list[Rows]:
    return [rows.between(start, stop) for start, stop in pairwise(bounds.tolist())]


def _largest_first(source: np.ndarray, target: np.ndarray, shape: PackShape) -> list[np.ndarray]:
    """Puts each example, the largest first, into the pack with the most room; opens another where none has enough.

    This is the greedy rule of bin packing that leaves the small ones, which fit anywhere, to even out the end.
    """
    groups: list[list[int]] = [[] for _ in range(shape.num_packs)]
    used = [(0, 0)] * shape.num_packs
    size = np.maximum(source / max(shape.source_capacity, 1), target / shape.target_capacity)
    for number in np.argsort(-size, kind="stable").tolist():
        longer = [(one + int(source[number]), other + int(target[number])) for one, other in used]
        loads = [_load(sums, len(group) + 1, shape) for sums, group in zip(longer, groups, strict=True)]
        best = min(range(len(loads)), key=loads.__getitem__)
        if loads[best] > 1:
            best = len(groups)
            groups.append([])
            used.append((0, 0))
            longer.append((int(source[number]), int(target[number])))
        groups[best].append(number)
        used[best] = longer[best]
    return [np.sort(group) for group in groups if group]


def _load(sums: tuple[int, int], num_examples: int, shape: PackShape) -> float:
    """How full a pack is, 1 at most, by what fills it first."""
    source, target = sums
    of_source = source / shape.source_capacity if shape.has_source else 0.0
    return max(of_source, target / shape.target_capacity, num_examples / shape.segment_capacity)


LINKS_PER_SLOT = 2
"""Where shapes are fixed, links come in multiples of so many for each target slot: what most packs need is one."""


def pack_links(links: Ragged, source: Ragged, target: Ragged, shape: PackShape) -> TokenLinks:
    """The links of these rows, each row target and source token in turn. The links of a target token share a weight of
    1 equally."""
    pairs = links.values.reshape(-1, 2).astype(np.int64)
    row = np.repeat(np.arange(len(links)), links.lengths // 2)
    targets, sources = pairs[:, 0] + target.offsets[row], pairs[:, 1] + source.offsets[row]
    counts = np.bincount(targets, minlength=1)
    weights = (1 / counts[targets]).astype(np.float32)
    size = len(targets)
    if shape.fixed:
        unit = LINKS_PER_SLOT * shape.target_slots
        size = max(1, -(-size // unit)) * unit
    filled = (np.pad(each, (0, size - len(each))) for each in (targets, sources, weights))
    return TokenLinks(*map(torch.from_numpy, filled))
