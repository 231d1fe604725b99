"""Micro-batches of a modular model: the global batch of a step by direction, each direction in packs of one shape."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from trimtab.config.modular_model import Route
from trimtab.config.modular_routes import modular_of
from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig
from trimtab.data.packing import Packing
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.text.batches import plan_batches
from trimtab.tasks.translation.directions import DirectedDatasets, split_by_direction
from trimtab.types import DirectedBatch, PackedBatch

MOST_PACKS = 16
"""Of a direction in a step, as far as sizes of micro-batches are compared."""
COST_OF_A_PACK = 512
"""Slots that take as long as what a micro-batch costs whatever its size; only compares sizes."""
STANDARD_DEVIATIONS = 2.0
"""By how many the packs of a direction in a step have room for more targets than it has on average."""


@dataclass(slots=True)
class DirectedPacking:
    """Cuts global batches into micro-batches of one direction each; see `tasks.task.Batching`."""

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
    chosen: int | None = None
    """Target slots of a micro-batch, where they were chosen here."""

    @property
    def resolved(self) -> dict[str, Any]:
        """What was chosen, by its key of the recipe's `step`."""
        own = {} if self.chosen is None else {"tokens_per_micro_batch": self.chosen}
        return {**self.packing.resolved, **own}

    @property
    def num_batches(self) -> int:
        """Micro-batches of a whole step."""
        return sum(self.planned.values())

    def tokens_at(self, step: int) -> int:
        """Target tokens that the global batch of a step may hold."""
        return self.packing.tokens_at(step)

    def cut_at(self, window: TextGlobalBatch, step: int) -> list[DirectedBatch]:
        """The micro-batches of a step in host memory. Where they have one shape, each step has the planned number of
        each direction, blank ones among them, so that recorded steps are alike."""
        parts = {name: part for name, _, part in split_by_direction(window, self.directions)}
        factors = self.factors_of(parts)
        found: list[DirectedBatch] = []
        template = None
        for name in self.planned:
            packs = self._packs(parts[name]) if name in parts else []
            found += [DirectedBatch(((name, pack),), factors) for pack in packs]
            template = template or (found[0] if found else None)
        return found if not self.packing.shape.fixed else self._filled_up(found)

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
        per_pack = self.packing.tokens_per_step / self.packing.shape.num_packs
        count = max(1, math.ceil(part.num_targets / per_pack))
        return self.packing.cut(part, replace(self.packing.shape, num_packs=count))

    def _filled_up(self, batches: Sequence[DirectedBatch]) -> list[DirectedBatch]:
        filled: list[DirectedBatch] = []
        for name, count in self.planned.items():
            own = [each for each in batches if each.parts[0][0] == name]
            blanks = [batches[0].blank_for(name)] * max(0, count - len(own))
            filled += [*own, *blanks]
        return filled


def plan_directed(
    recipe: Recipe, datasets: DirectedDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> DirectedPacking:
    """The micro-batches of the run; see `Task.plan_batches`. Where packs have one shape and the recipe leaves their
    size open, it is the one that leaves the fewest slots empty over all directions."""
    model, step, shares = modular_of(recipe), recipe.step, datasets.target_shares()
    needs = {name: slots_needed(share, recipe, datasets) for name, share in shares.items()}
    chosen = None
    if packed and step.tokens_per_micro_batch is None:
        chosen = choose_micro_batch(
            needs.values(), least=recipe.data.max_tokens, most=step.micro_batch_tokens
        )
        step = step.model_copy(update={"tokens_per_micro_batch": chosen})
        recipe = recipe.model_copy(update={"step": step})
    packing = plan_batches(recipe, datasets, packed=packed, device=device, ranks=ranks)
    per_pack = packing.tokens_per_step / packing.shape.num_packs
    return DirectedPacking(
        packing=packing,
        directions=datasets.directions,
        planned={name: max(1, math.ceil(need / per_pack)) for name, need in needs.items()},
        users=users_by_component(recipe) if model.mean_over == "component" else None,
        deepest=max(model.directions, key=lambda name: depth_of(model.route(name))),
        chosen=chosen,
    )


def depth_of(route: Route) -> int:
    """Layers of both stacks of a route."""
    return sum(len(part.numbers) for part in (*route.encoder, *route.decoder))


def slots_needed(share: float, recipe: Recipe, datasets: DirectedDatasets) -> float:
    """Targets of a direction in a step for which there is room: what it has on average, and two standard deviations of
    what chance adds to it."""
    step: StepConfig = recipe.step
    lengths = datasets.lengths[1]
    mean = float(lengths.mean()) if len(lengths) else 1.0
    spread = float(np.sqrt(np.mean(np.square(lengths.astype(np.float64))))) if len(lengths) else 1.0
    examples = share * step.tokens_per_step / max(1.0, mean)
    return share * step.tokens_per_step + STANDARD_DEVIATIONS * math.sqrt(max(0.0, examples)) * spread


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
