"""Micro-batches of a modular model: the global batch of a step by direction, each direction in packs of one shape, and
packs of several directions at once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch

from trimtab.config.modular_model import Route
from trimtab.config.modular_routes import modular_of
from trimtab.config.run import Recipe
from trimtab.data.packing import Packing
from trimtab.data.shape import with_capacity_for
from trimtab.data.stream_sample import Sample
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.text.batches import plan_batches
from trimtab.tasks.translation.directions import DirectedDatasets, select_examples, split_by_direction
from trimtab.types import DirectedBatch, PackedBatch

Each = TypeVar("Each")
MOST_PACKS = 16
"""Of a direction in a step, as far as sizes of micro-batches are compared."""
COST_OF_A_PACK = 512
"""Slots that take as long as what a micro-batch costs whatever its size; only compares sizes."""
STANDARD_DEVIATIONS = 2.0
"""By how many the packs of a direction in a step have room for more targets than it has on average."""


@dataclass(slots=True)
class DirectedPacking:
    """Cuts global batches into packs of one direction each, and puts packs of several directions into a micro-batch
    where they have one shape; see `tasks.task.Batching`."""

    packing: Packing
    """How the examples of one direction become packs."""
    directions: tuple[str, ...]
    """Of each corpus."""
    planned: Mapping[str, int]
    """Packs of each direction in a whole step, in the order of the model's directions."""
    users: Mapping[str, frozenset[str]] | None = None
    """By component, the directions that use it, where gradients are means over the targets of a component."""
    deepest: str = ""
    """A direction with the most layers."""
    num_joined: int = 1
    """Micro-batches of a whole step, where packs have one shape."""
    spans: Mapping[str, tuple[float, float]] | None = None
    """Of each direction that this rank works on, from where to where in its targets of a step, from 0 to 1; None for
    everything of each direction."""

    @property
    def resolved(self) -> dict[str, Any]:
        """What was chosen, by its key of the recipe's `step`."""
        slots = self.packing.shape.source_slots * len(self.at_once)
        return {"source_tokens_per_micro_batch": slots or None}

    @property
    def num_batches(self) -> int:
        """Micro-batches of a whole step."""
        return self.num_joined if self.packing.shape.fixed else sum(self.planned.values())

    @property
    def in_order(self) -> bool:
        """See `Batching.in_order`: micro-batches differ in their components."""
        return self.packing.shape.fixed

    @property
    def at_once(self) -> tuple[str, ...]:
        """The directions of a largest micro-batch, one for each of its packs."""
        if not self.packing.shape.fixed:
            return (self.deepest,)
        names = [name for name, count in self.planned.items() for _ in range(count)]
        return tuple(max(divided(names, self.num_joined), key=len))

    def tokens_at(self, step: int) -> int:
        """Target tokens that the global batch of a step may hold."""
        return self.packing.tokens_at(step)

    def cut_at(self, window: TextGlobalBatch, step: int) -> list[DirectedBatch]:
        """The micro-batches of a step in host memory. Where packs have one shape, steps of one size have the planned
        number of each direction, blank ones among them, so that recorded steps are alike; what does not fit follows in
        further micro-batches."""
        parts = {name: part for name, _, part in split_by_direction(window, self.directions)}
        factors = self.factors_of(parts)
        if self.spans is not None:
            parts = {
                name: slice_by_targets(parts[name], *span)
                for name, span in self.spans.items()
                if name in parts
            }
        packs = {name: self._packs(parts[name]) if name in parts else [] for name in self.planned}
        if not self.packing.shape.fixed:
            return [DirectedBatch(((name, pack),), factors) for name, each in packs.items() for pack in each]
        blank = self._packs(select_examples(window, np.zeros(1, np.int64)))[0].blank()
        return [DirectedBatch(tuple(each), factors) for each in self._joined(packs, step, blank)]

    def placed(self, placement: Sequence[Mapping[str, float]], rank: int) -> "DirectedPacking":
        """The same for a rank that takes its shares of some directions, where `placement` has those of each rank."""
        spans: dict[str, tuple[float, float]] = {}
        for name in self.planned:
            shares = [each.get(name, 0.0) for each in placement]
            before, whole = sum(shares[:rank]), sum(shares)
            if shares[rank]:
                spans[name] = before / whole, sum(shares[: rank + 1]) / whole
        planned = {
            name: math.ceil(self.planned[name] * (stop - start)) for name, (start, stop) in spans.items()
        }
        num_joined = max(1, math.ceil(self.num_joined * sum(planned.values()) / sum(self.planned.values())))
        return replace(self, planned=planned, spans=spans, num_joined=num_joined)

    def mixed(self, window: TextGlobalBatch, pieces: int) -> list[DirectedBatch]:
        """A global batch in so many micro-batches, each with a part of every direction that has enough examples."""
        parts = {name: part for name, _, part in split_by_direction(window, self.directions)}
        factors = self.factors_of(parts)
        batches: list[list[tuple[str, PackedBatch]]] = [[] for _ in range(pieces)]
        for name, part in parts.items():
            packs = self.packing.cut(part, replace(self.packing.shape, num_packs=pieces))
            for number, pack in enumerate(packs):
                batches[number % pieces].append((name, pack))
        return [DirectedBatch(tuple(batch), factors) for batch in batches if batch]

    def factors_of(self, parts: Mapping[str, TextGlobalBatch]) -> torch.Tensor | None:
        """What makes of a gradient divided by all targets of a step one that is divided by those of the component."""
        if self.users is None:
            return None
        targets = {name: part.num_targets for name, part in parts.items()}
        own = [sum(targets.get(name, 0) for name in names) for names in self.users.values()]
        return torch.tensor([sum(targets.values()) / max(1, each) for each in own], dtype=torch.float32)

    def _packs(self, part: TextGlobalBatch) -> list[PackedBatch]:
        if not len(part.target):
            return []
        shape = self.packing.shape
        even = self.packing.tokens_per_step / shape.num_packs
        count = math.ceil(part.num_targets / (shape.target_capacity if shape.fixed else even))
        return self.packing.cut(part, replace(shape, num_packs=max(1, count)))

    def _joined(
        self, packs: Mapping[str, Sequence[PackedBatch]], step: int, blank: PackedBatch
    ) -> list[list[tuple[str, PackedBatch]]]:
        share = self.packing.tokens_at(step) / self.packing.tokens_per_step
        alike: list[tuple[str, PackedBatch]] = []
        more: list[list[tuple[str, PackedBatch]]] = []
        for name, own in packs.items():
            count = math.ceil(share * self.planned[name])
            filled = [*own[:count], *[blank] * (count - len(own))]
            alike += [(name, pack) for pack in filled]
            more += [[(name, pack)] for pack in own[count:]]
        return [*divided(alike, math.ceil(share * self.num_joined)), *more]


def slice_by_targets(part: TextGlobalBatch, start: float, stop: float) -> TextGlobalBatch:
    """The examples of a direction between two shares of its targets. Spans that meet leave out and repeat nothing."""
    ends = part.target.offsets
    first, last = (int(np.searchsorted(ends, share * ends[-1] - 0.5)) for share in (start, stop))
    return select_examples(part, np.arange(first, min(last, len(part.target))))


def divided(parts: Sequence[Each], count: int) -> list[list[Each]]:
    """Parts in their order, as evenly divided into so many lists as goes; none of them is empty."""
    count = min(count, len(parts))
    bounds = [number * len(parts) // count for number in range(count + 1)]
    return [list(parts[start:stop]) for start, stop in pairwise(bounds)]


def plan_directed(
    recipe: Recipe, datasets: DirectedDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> DirectedPacking:
    """The micro-batches of the run; see `Task.plan_batches`. Where packs have one shape, their size is the one that
    leaves the fewest slots empty over all directions, and as many of them run at once as `tokens_per_micro_batch` asks
    for."""
    model, step, shares = modular_of(recipe), recipe.step, datasets.target_shares()
    samples = dict(datasets.samples)
    targets = {name: share * step.tokens_per_step for name, share in shares.items()}
    needs = {name: slots_needed(count, samples[name].target.lengths) for name, count in targets.items()}
    num_joined = -(-step.tokens_per_step // step.micro_batch_tokens)
    if packed:
        size = choose_micro_batch(needs.values(), least=recipe.data.max_tokens, most=step.micro_batch_tokens)
        counts = {name: max(1, math.ceil(need / size)) for name, need in needs.items()}
        num_joined = min(-(-num_joined // ranks) * ranks, sum(counts.values()))
        one = step.model_copy(update={"tokens_per_micro_batch": size, "source_tokens_per_micro_batch": None})
        packing = plan_batches(recipe.model_copy(update={"step": one}), datasets, packed=True, device=device)
        lengths = [(*lengths_of(samples[name]), targets[name] / count) for name, count in counts.items()]
        packing.shape = with_capacity_for(packing.shape, lengths, target_slots=size)
        if (given := step.source_tokens_per_micro_batch) is not None:
            slots = given // -(-sum(counts.values()) // num_joined)
            packing.shape = replace(packing.shape, source_slots=max(slots, packing.shape.source_max_seqlen))
    else:
        packing = plan_batches(recipe, datasets, packed=False, device=device, ranks=ranks)
        even = packing.tokens_per_step / packing.shape.num_packs
        counts = {name: max(1, math.ceil(need / even)) for name, need in needs.items()}
    return DirectedPacking(
        packing=packing,
        directions=datasets.directions,
        planned=counts,
        users=users_by_component(recipe) if model.mean_over == "component" else None,
        deepest=max(model.directions, key=lambda name: depth_of(model.route(name))),
        num_joined=num_joined,
    )


def lengths_of(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Source and target lengths of its examples."""
    return sample.source.lengths, sample.target.lengths


def depth_of(route: Route) -> int:
    """Layers of both stacks of a route."""
    return sum(len(part.numbers) for part in (*route.encoder, *route.decoder))


def slots_needed(targets: float, lengths: np.ndarray) -> float:
    """Slots for the targets of a direction in a step: what it has on average, and two standard deviations of what
    chance adds to it. `lengths` are those of some of its examples."""
    mean = float(lengths.mean()) if len(lengths) else 1.0
    spread = float(np.sqrt(np.mean(np.square(lengths.astype(np.float64))))) if len(lengths) else 1.0
    return targets + STANDARD_DEVIATIONS * math.sqrt(max(0.0, targets / max(1.0, mean))) * spread


def choose_micro_batch(needs: Iterable[float], *, least: int, most: int) -> int:
    """The size of micro-batches for which those of all directions together cost least."""
    needs = list(needs)
    sizes = {math.ceil(need / count) for need in needs for count in range(1, MOST_PACKS + 1)}
    allowed = sorted({min(most, max(least, size)) for size in sizes}, reverse=True)

    def cost(size: int) -> int:
        return sum(math.ceil(need / size) for need in needs) * (size + COST_OF_A_PACK)

    return min(allowed, key=cost)


def users_by_component(recipe: Recipe) -> dict[str, frozenset[str]]:
    """By component, in the model's order, the directions that use it; from a model without memory of its own."""
    from trimtab.model.modular.modular import Modular  # late: only for this option

    with torch.device("meta"):
        model = Modular(modular_of(recipe), num_ids=1, max_positions=recipe.data.max_tokens, seed=0)
    return model.users()
