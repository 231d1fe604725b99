"""Micro-batches of a modular model: the global batch of a step by direction, each direction in packs of one shape, and
packs of several directions at once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import torch

from trimtab.config.modular_model import Route
from trimtab.config.modular_routes import modular_of
from trimtab.config.run import Recipe
from trimtab.data.packing import Packing
from trimtab.data.shape import PackShape, rounded_up, with_room_for
from trimtab.data.stream_sample import Sample
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.text.batches import plan_batches
from trimtab.tasks.translation.directions import DirectedDatasets, split_by_direction
from trimtab.types import DirectedBatch, PackedBatch

Each = TypeVar("Each")
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
    shapes: Mapping[str, PackShape]
    """Of the packs of each direction."""
    users: Mapping[str, frozenset[str]] | None = None
    """By component, the directions that use it, where gradients are means over the targets of a component."""
    deepest: str = ""
    """A direction with the most layers."""
    num_joined: int = 1
    """Micro-batches of a whole step, where packs have one shape."""

    @property
    def resolved(self) -> dict[str, Any]:
        """What was chosen, by its key of the recipe's `step`."""
        if not self.packing.shape.fixed:
            return self.packing.resolved
        slots = sum(self.shapes[name].source_slots for name in self.at_once)
        return {"source_tokens_per_micro_batch": slots or None}

    @property
    def num_batches(self) -> int:
        """Micro-batches of a whole step."""
        return self.num_joined if self.packing.shape.fixed else sum(self.planned.values())

    @property
    def in_order(self) -> bool:
        """Whether each rank takes the micro-batches of the same places in every step: they differ in their components,
        and steps are recorded by them."""
        return self.packing.shape.fixed

    @property
    def at_once(self) -> tuple[str, ...]:
        """The directions of a largest micro-batch, one for each of its packs."""
        if not self.packing.shape.fixed:
            return (self.deepest,)
        names = [name for name, count in self.planned.items() for _ in range(count)]
        slots = {name: shape.target_slots for name, shape in self.shapes.items()}
        groups = divided(names, [slots[name] for name in names], self.num_joined)
        return tuple(max(groups, key=lambda group: sum(slots[name] for name in group)))

    def tokens_at(self, step: int) -> int:
        """Target tokens that the global batch of a step may hold."""
        return self.packing.tokens_at(step)

    def cut_at(self, window: TextGlobalBatch, step: int) -> list[DirectedBatch]:
        """The micro-batches of a step in host memory. Where packs have one shape, steps of one size have the planned
        number of each direction, blank ones among them, so that recorded steps are alike; what does not fit follows in
        further micro-batches."""
        parts = {name: part for name, _, part in split_by_direction(window, self.directions)}
        factors = self.factors_of(parts)
        packs = {name: self._packs(name, parts[name]) if name in parts else [] for name in self.planned}
        if not self.packing.shape.fixed:
            return [DirectedBatch(((name, pack),), factors) for name, each in packs.items() for pack in each]
        return [DirectedBatch(tuple(each), factors) for each in self._joined(packs, window, step)]

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

    def _packs(self, name: str, part: TextGlobalBatch) -> list[PackedBatch]:
        shape = self.shapes[name]
        even = self.packing.tokens_per_step / shape.num_packs
        count = math.ceil(part.num_targets / (shape.target_capacity if shape.fixed else even))
        return self.packing.cut(part, replace(shape, num_packs=max(1, count)))

    def _joined(
        self, packs: Mapping[str, Sequence[PackedBatch]], window: TextGlobalBatch, step: int
    ) -> list[list[tuple[str, PackedBatch]]]:
        share = self.packing.tokens_at(step) / self.packing.tokens_per_step
        alike: list[tuple[str, PackedBatch]] = []
        more: list[list[tuple[str, PackedBatch]]] = []
        for name, own in packs.items():
            count = math.ceil(share * self.planned[name])
            blanks = [self._blank(name, window)] * (count - len(own)) if len(own) < count else []
            alike += [(name, pack) for pack in (*own[:count], *blanks)]
            more += [[(name, pack)] for pack in own[count:]]
        sizes = [self.shapes[name].target_slots for name, _ in alike]
        return [*divided(alike, sizes, math.ceil(share * self.num_joined)), *more]

    def _blank(self, name: str, window: TextGlobalBatch) -> PackedBatch:
        """A pack of a direction in which nothing counts, filled with the first example of another."""
        first = next(part for _, _, part in split_by_direction(window, self.directions))
        one = TextGlobalBatch(
            first.source.between(0, 1), first.target.between(0, 1), first.corpus[:1], first.line[:1], 0
        )
        return self.packing.cut(one, replace(self.shapes[name], num_packs=1))[0].blank()


def divided(parts: Sequence[Each], sizes: Sequence[int], count: int) -> list[list[Each]]:
    """Parts in their order, divided into so many lists of about the same size; none of them is empty."""
    count = min(count, len(parts))
    ends = list(accumulate(sizes))
    lists: list[list[Each]] = []
    start = 0
    for number in range(1, count + 1):
        goal = ends[-1] * number / count
        stop = min(range(start + 1, len(parts) + 1), key=lambda each: abs(ends[each - 1] - goal))
        stop = len(parts) if number == count else min(stop, len(parts) - (count - number))
        lists.append(list(parts[start:stop]))
        start = stop
    return lists


def plan_directed(
    recipe: Recipe, datasets: DirectedDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> DirectedPacking:
    """The micro-batches of the run; see `Task.plan_batches`. Where packs have fixed shapes, each direction has its own,
    with room for what it usually has in a step, and as many packs run at once as `tokens_per_micro_batch` asks for."""
    model, step, shares = modular_of(recipe), recipe.step, datasets.target_shares()
    samples = dict(datasets.samples)
    needs = {
        name: slots_needed(share, samples[name].target.lengths, tokens_per_step=step.tokens_per_step)
        for name, share in shares.items()
    }
    packing = plan_batches(recipe, datasets, packed=packed, device=device, ranks=1 if packed else ranks)
    most = step.micro_batch_tokens if packed else packing.tokens_per_step / packing.shape.num_packs
    counts = {name: max(1, math.ceil(need / most)) for name, need in needs.items()}
    shapes = dict.fromkeys(counts, packing.shape)
    num_joined = min(
        rounded_up(-(-step.tokens_per_step // step.micro_batch_tokens), ranks), sum(counts.values())
    )
    if packed:
        shapes = {
            name: with_room_for(
                packing.shape,
                *lengths_of(samples[name]),
                target_slots=math.ceil(needs[name] / count),
                targets=shares[name] * step.tokens_per_step / count,
            )
            for name, count in counts.items()
        }
    planned = DirectedPacking(
        packing=packing,
        directions=datasets.directions,
        planned=counts,
        shapes=shapes,
        users=users_by_component(recipe) if model.mean_over == "component" else None,
        deepest=max(model.directions, key=lambda name: depth_of(model.route(name))),
        num_joined=num_joined,
    )
    given, slots = step.source_tokens_per_micro_batch, planned.resolved["source_tokens_per_micro_batch"]
    if packed and given is not None and slots:
        # As many as a resumed run has had are shared out as they were.
        planned.shapes = {
            name: replace(each, source_slots=max(each.source_max_seqlen, given * each.source_slots // slots))
            for name, each in shapes.items()
        }
    return planned


def lengths_of(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Source and target lengths of its examples."""
    return sample.source.lengths, sample.target.lengths


def depth_of(route: Route) -> int:
    """Layers of both stacks of a route."""
    return sum(len(part.numbers) for part in (*route.encoder, *route.decoder))


def slots_needed(share: float, lengths: np.ndarray, *, tokens_per_step: int) -> float:
    """Slots for the targets of a direction in a step: its share, and two standard deviations of what chance adds to it.
    `lengths` are those of some of its examples."""
    targets = share * tokens_per_step
    mean = float(lengths.mean()) if len(lengths) else 1.0
    square = float(np.mean(np.square(lengths.astype(np.float64)))) if len(lengths) else 1.0
    # Of so many examples of the step each is of this direction or not.
    variance = targets / max(1.0, mean) * square * (1 - min(1.0, share))
    return targets + STANDARD_DEVIATIONS * math.sqrt(max(0.0, variance))


def users_by_component(recipe: Recipe) -> dict[str, frozenset[str]]:
    """By component, in the model's order, the directions that use it; from a model without memory of its own."""
    from trimtab.model.modular.modular import Modular  # late: only for this option

    with torch.device("meta"):
        model = Modular(modular_of(recipe), num_ids=1, max_positions=recipe.data.max_tokens, seed=0)
    return model.users()
