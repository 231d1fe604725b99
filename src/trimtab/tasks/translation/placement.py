"""The directions of a modular model placed on ranks, and the weights that each rank trains."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from trimtab.config.freezing import FrozenUntil, stages_of
from trimtab.config.parallel import ByDirection
from trimtab.config.run import Recipe
from trimtab.distributed import Ranks
from trimtab.distributed.placed_ranks import PlacedRanks, ReplicatedWeights
from trimtab.errors import input_error
from trimtab.fit.modular_tasks import instance_of
from trimtab.fit.place_tasks import place_tasks
from trimtab.model.freeze import matched
from trimtab.model.modular.modular import Modular

Placement = Sequence[Mapping[str, float]]
"""For each rank the share of each direction that it works on."""


def placed_ranks(recipe: Recipe, model: Any, ranks: Any) -> PlacedRanks | None:
    """Ranks of which each trains the components of its directions; None for recipes that do not ask for them, and for
    one process."""
    if ranks.world_size == 1 or not isinstance(recipe.parallel, ByDirection):
        return None
    placement = placement_of(recipe, ranks)
    held = held_by(model, placement)
    refuse_idle(placement, held, later=trained_later(model, stages_of(recipe.freeze)))
    return PlacedRanks(ranks, held, placement=placement, about=described(placement, held))


def refuse_idle(
    placement: Placement, held: Sequence[ReplicatedWeights], *, later: Collection[str] = frozenset()
) -> None:
    """Raises InputError for a rank whose directions run through frozen components alone. `later` has the names of the
    weights that are frozen for the first steps."""
    busy = {rank for each in held for rank in each.holders}
    at_first = {rank for each in held if not each.weights.keys() <= set(later) for rank in each.holders}
    if idle := [rank for rank in range(len(placement)) if rank not in at_first]:
        is_late = idle[0] in busy
        raise input_error(
            f"parallel: rank {idle[0]} would train nothing" + (" in the first steps" if is_late else ""),
            got=f"{', '.join(placement[idle[0]])}, whose components are all frozen"
            + (", some of them with `until`" if is_late else ""),
            allowed="a direction with a component that is trained from the first step, on each rank",
            fix="remove `parallel` to have every process train all components, or "
            + ("`freeze` for some of them" if is_late else "these directions and their corpora"),
        )


def trained_later(model: Modular, stages: Sequence[FrozenUntil]) -> frozenset[str]:
    """Names of the weights that are frozen for the first steps."""
    return frozenset(name for stage in stages for name in matched(model, stage.weights))


def placement_of(recipe: Recipe, ranks: Ranks) -> Placement:
    """The placement of a recipe, or a computed one, which rank 0 sends to all. InputError where the recipe has one for
    another number of ranks."""
    parallel = cast("ByDirection", recipe.parallel)
    if not parallel.placement:
        # On all ranks, so that what is wrong is raised on each; files may have other sizes on another host.
        instance = instance_of(recipe, Path(), ranks=ranks.world_size, option="--nproc-per-node")
        shares = place_tasks(instance).shares if ranks.is_first else []
        return cast("Placement", ranks.gather(shares)[0])
    if len(parallel.placement) != ranks.world_size:
        raise input_error(
            "parallel.placement: does not match the number of processes",
            got=f"{len(parallel.placement)} entries and {ranks.world_size} processes",
            allowed="one entry for each process",
            fix=f"start {len(parallel.placement)} processes, or remove `placement` to have it computed",
        )
    return parallel.placement


def held_by(model: Modular, placement: Placement) -> list[ReplicatedWeights]:
    """The trained weights by component and by the ranks that train them, since a rank may need some layers of a
    component alone."""
    holders: dict[str, set[int]] = {}
    names = {id(weight): name for name, weight in model.named_parameters()}
    for rank, shares in enumerate(placement):
        for direction in (name for name, share in shares.items() if share):
            for weight in model.translator(direction).parameters():
                holders.setdefault(names[id(weight)], set()).add(rank)
    groups: dict[tuple[str, tuple[int, ...]], dict[str, Any]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            key = model.component_of(name), tuple(sorted(holders[name]))
            groups.setdefault(key, {})[name] = weight
    held = [
        ReplicatedWeights(component, ranks_of, weights) for (component, ranks_of), weights in groups.items()
    ]
    order = {component: number for number, component in enumerate(model.components)}
    return sorted(held, key=lambda each: (order[each.component], each.holders))


def described(placement: Placement, held: Sequence[ReplicatedWeights]) -> str:
    """One line: what each rank works on, and how many of the weights it trains."""
    total = sum(weight.numel() for each in held for weight in each.weights.values())
    told: list[str] = []
    for rank, shares in enumerate(placement):
        own = sum(weight.numel() for each in held if rank in each.holders for weight in each.weights.values())
        named = ", ".join(name if share > 0.9995 else f"{name} {share:.0%}" for name, share in shares.items())
        told.append(f"rank {rank}: {named} ({own / total:.0%} of the weights)")
    return "; ".join(told)
