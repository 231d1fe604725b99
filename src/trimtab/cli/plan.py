"""`trimtab plan tasks`: which GPU works on which directions of a modular model."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trimtab.cli.arguments import Overrides, RecipeFile
from trimtab.cli.numbers import Range, number_option

if TYPE_CHECKING:
    from trimtab.fit.placement import Placement

MOST_GPUS = 1024
GIB = 2**30


def tasks(
    recipe: RecipeFile,
    gpus: Annotated[
        int,
        number_option(
            "--gpus",
            Range(least=1, most=MOST_GPUS),
            help="Number of GPUs to place the directions on.",
            fix="write `--gpus 8`",
        ),
    ],
    overrides: Overrides = None,
    placement: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge this placement too: JSON as --json prints it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Place the directions of a modular model on GPUs, on paper.

    Work is even to within 5%, and as little as possible has to be communicated: a GPU holds the components of its
    directions only, and the GPUs that hold a component sum its gradients once a step. Needs no GPU and no PyTorch.
    `trimtab train` uses such a placement with `parallel: {kind: by_direction}`.
    """
    from trimtab.config.load import load_recipe
    from trimtab.fit.modular_tasks import instance_of, read_placement
    from trimtab.fit.place_tasks import place_tasks

    loaded = load_recipe(recipe, overrides=overrides or [])
    instance = instance_of(loaded.recipe, recipe.absolute().parent, ranks=gpus)
    given = None if placement is None else read_placement(placement, instance)
    found = place_tasks(instance)
    if as_json:
        told = {**_facts(found), **({"given": _facts(given)} if given is not None else {})}
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo("\n".join(_page(str(recipe), found, given)))


def _facts(placement: "Placement") -> dict[str, Any]:
    from trimtab.fit.placement import data_parallel, least_communicated

    instance = placement.instance
    return {
        "gpus": instance.ranks,
        "directions": len(instance.tasks),
        "waiting": round(placement.waiting, 4),
        "communicated_bytes": placement.communicated,
        "communicated_bytes_of_the_busiest": max(placement.communicated_by_rank),
        "lower_bound_bytes": least_communicated(instance),
        "data_parallel_bytes": data_parallel(instance).communicated,
        "largest_part_of_the_model": max(placement.held_bytes) / sum(instance.bytes_of.values()),
        "gpus_by_component": placement.holders,
        "ranks": [{name: round(share, 4) for name, share in rank.items()} for rank in placement.shares],
    }


def _page(name: str, found: "Placement", given: "Placement | None") -> list[str]:
    facts, instance = _facts(found), found.instance
    mean = instance.work / instance.ranks
    lines = [f"{name} on {instance.ranks} GPUs: {len(instance.tasks)} directions"]
    lines += ["", f"{'GPU':>4}  work  directions"]
    for rank, (work, shares) in enumerate(zip(found.work, facts["ranks"], strict=True)):
        told = ", ".join(each if share >= 0.9995 else f"{each} {share:.1%}" for each, share in shares.items())
        lines.append(f"{rank:>4}  {sum(work.values()) / mean:4.2f}  {told or 'nothing'}")
    lines += ["", "component  GPUs that hold it"]
    lines += [
        f"{each}  {count}"
        for each, count in sorted(found.holders.items(), key=lambda each: (-each[1], each[0]))
    ]
    lines += ["", f"{'':<20}waiting   gradients sent in a step   by the busiest GPU   of the model on a GPU"]
    shown = [("this placement", facts)] + ([("the given placement", _facts(given))] if given else [])
    for title, each in shown:
        lines.append(
            f"{title:<20}{each['waiting']:7.1%}   {each['communicated_bytes'] / GIB:20.2f} GiB   "
            f"{each['communicated_bytes_of_the_busiest'] / GIB:14.2f} GiB   {each['largest_part_of_the_model']:20.0%}"
        )
    lines.append(f"{'data parallelism':<20}{0:7.1%}   {facts['data_parallel_bytes'] / GIB:20.2f} GiB")
    lines.append(f"{'lower bound':<20}{'':7}   {facts['lower_bound_bytes'] / GIB:20.2f} GiB")
    lines += [
        "",
        "work: 1 is the mean; a share is that of a direction's sentences. `trimtab train` with",
        f"`parallel: {{kind: by_direction}}` on {instance.ranks} processes uses this placement.",
    ]
    return lines
