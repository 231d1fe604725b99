"""The directions of a modular recipe as tasks: their work, their components, and a placement that a file gives."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from trimtab.config.corpora import TrainCorpus
from trimtab.config.modular_data import trained_directions
from trimtab.config.modular_model import SIDES, ModularModel, Side
from trimtab.config.placement import placement_problems
from trimtab.config.run import Recipe
from trimtab.errors import InputError, Problem, input_error
from trimtab.fit.batches import ratio_of_sides
from trimtab.fit.native import layer_weights, native_shape
from trimtab.fit.placement import Instance, Placement, TaskToPlace
from trimtab.fit.vocabulary import vocabulary_of

LEAST_SHARE = 1e-6
"""The least share of a step's work that a direction counts as."""
GRADIENT_BYTES = 4
"""Gradients are summed in float32."""


def instance_of(recipe: Recipe, folder: Path, *, ranks: int, option: str = "--gpus") -> Instance:
    """What is placed for a recipe. Raises InputError for another model than a modular one, and where a step has not a
    longest sentence for each rank; `option` is what sets their number."""
    model = recipe.model
    if not isinstance(model, ModularModel):
        raise input_error(
            "model.kind: tasks are the directions of a modular model",
            got=model.kind,
            allowed="modular",
            fix="see docs/how_to/many_languages.md, or `trimtab fit` for a model without components",
        )
    tokens, longest = recipe.step.tokens_per_step, recipe.data.max_tokens
    if ranks * longest > tokens:
        most = tokens // longest
        raise input_error(
            f"{option}: a step has too few target tokens for this many GPUs",
            got=f"{ranks} GPUs, {tokens:,} tokens a step, sentences of up to {longest} tokens",
            allowed=f"1 to {most}" if most else f"a step of at least {longest} tokens",
            fix=f"raise `step.tokens_per_step` to {ranks * longest} or more"
            + (f", or write `{option} {most}`" if most else ""),
        )
    shape = native_shape(recipe, vocabulary_of(recipe, folder))
    layers = {
        side: sum(
            each.numbers
            for stack in shape.stacks
            if stack.reads_source == (side == "encoder")
            for each in layer_weights(stack.layer, 1, bias=model.bias)
        )
        for side in SIDES
    }
    table, ratio = shape.rows * shape.dim, ratio_of_sides(recipe, folder)
    shares = shares_of(recipe, folder)
    used = {name: frozenset(_used(model, name)) for name in model.directions}
    names = _named(model, used)
    tasks, sizes = list[TaskToPlace](), dict[str, int]()
    for name in model.directions:
        route = model.route(name)
        depth = {side: sum(len(part.numbers) for part in getattr(route, side)) for side in SIDES}
        work = depth["encoder"] * layers["encoder"] * ratio + depth["decoder"] * layers["decoder"] + table
        needs = {names[unit] for unit in used[name]}
        for unit in used[name]:
            sizes.setdefault(names[unit], 0)
        tables = _tables(model, name)
        sizes |= dict.fromkeys(tables, table * GRADIENT_BYTES)
        tasks.append(TaskToPlace(name, shares[name] * work, frozenset(needs | tables)))
    for (side, _, _), name in names.items():
        sizes[name] += layers[side] * GRADIENT_BYTES
    # A placement drops work that is close to 0; with a minimum, every direction gets a rank.
    least = LEAST_SHARE * math.fsum(each.work for each in tasks)
    return Instance(tuple(replace(each, work=max(each.work, least)) for each in tasks), sizes, ranks)


def shares_of(recipe: Recipe, folder: Path) -> dict[str, float]:
    """The share of each direction in the target tokens of a step, from the sizes of its files; where files are missing,
    all corpora count as of one size."""
    corpora = [(name, corpus) for _, name, corpus in trained_directions(recipe.data)]
    root = folder / (recipe.data.root or "")
    sizes = [_file_bytes(corpus, root, reverse=name != corpus.direction) for name, corpus in corpora]
    if not all(sizes):
        sizes = [1] * len(corpora)
    natural = [size * corpus.weight for size, (_, corpus) in zip(sizes, corpora, strict=True)]
    total = math.fsum(natural)
    drawn = Counter[str]()
    for (name, _), each in zip(corpora, natural, strict=True):
        drawn[name] += (each / total) ** (1 / recipe.data.temperature)  # pyright: ignore[reportArgumentType]
    whole = math.fsum(drawn.values())
    return {name: each / whole for name, each in drawn.items()}


def read_placement(path: Path, instance: Instance) -> Placement:
    """A placement from a JSON file as `trimtab plan tasks --json` prints it: a list with an object for each rank, which
    has the share of each direction that it works on. Raises InputError, for all that is wrong with it at once."""
    try:
        read: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise input_error(
            f"{path}: no placement",
            got=str(error).splitlines()[0][:200],
            allowed='JSON: {"ranks": [{"en-de": 1.0}, {"en-fr": 0.5, "fr-en": 1.0}]}',
            fix="begin with what `trimtab plan tasks --json` prints",
        ) from None
    ranks = cast("dict[str, Any]", read).get("ranks") if isinstance(read, dict) else read
    if problems := list(_problems(ranks, instance)):
        raise InputError(*problems)
    numbers = {direction.name: number for number, direction in enumerate(instance.tasks)}
    return Placement(
        instance,
        tuple(
            {
                numbers[name]: share * instance.tasks[numbers[name]].work
                for name, share in rank.items()
                if share
            }
            for rank in cast("list[dict[str, float]]", ranks)
        ),
    )


def _problems(ranks: Any, instance: Instance) -> Iterator[Problem]:
    known = [direction.name for direction in instance.tasks]
    if not isinstance(ranks, list) or len(cast("list[Any]", ranks)) != instance.ranks:
        got = f"{len(cast('list[Any]', ranks))} ranks" if isinstance(ranks, list) else type(ranks).__name__
        yield Problem(
            what="--placement: the file's number of ranks differs from --gpus",
            got=got,
            allowed=f"a list with an object for each of {instance.ranks} ranks",
            fix="set --gpus to the number of ranks in the file",
        )
        return
    yield from placement_problems(cast("list[Any]", ranks), known, key="--placement")


def _file_bytes(corpus: TrainCorpus, root: Path, *, reverse: bool) -> int:
    """Bytes of the side that is written, about; 0 where the files are not there."""
    side = corpus.source if reverse else corpus.target
    pairs = getattr(corpus, "pairs", None)
    path = root / str(pairs or side)
    return path.stat().st_size // (2 if pairs else 1) if path.is_file() else 0


def _used(model: ModularModel, direction: str) -> Iterator[tuple[Side, str, int]]:
    """Every layer that a direction runs through."""
    for side in SIDES:
        for part in model.layers(direction, side):
            for number in part.numbers:
                yield side, part.component, number


def _named(
    model: ModularModel, used: Mapping[str, frozenset[tuple[Side, str, int]]]
) -> dict[tuple[Side, str, int], str]:
    """Names of what is communicated by itself: a component, or those of its layers that the same directions use."""
    names = dict[tuple[Side, str, int], str]()
    for side in SIDES:
        for component, count in model.components(side).items():
            users = [
                frozenset(name for name, units in used.items() if (side, component, number) in units)
                for number in range(count)
            ]
            for number, each in enumerate(users):
                same = [other for other in range(count) if users[other] == each]
                layers = "" if len(same) == count else f".{','.join(map(str, same))}"
                names[side, component, number] = f"{side}.{component}{layers}"
    return names


def _tables(model: ModularModel, direction: str) -> frozenset[str]:
    """The matrices over the vocabulary that a direction uses."""
    source, target = map(model.tables, model.languages(direction))
    match model.tie_embeddings:
        case "all":
            return frozenset({f"embeddings.{source}", f"embeddings.{target}"})
        case "decoder":
            return frozenset({f"source_embeddings.{source}", f"embeddings.{target}"})
        case _:
            return frozenset({f"source_embeddings.{source}", f"embeddings.{target}", f"outputs.{target}"})
