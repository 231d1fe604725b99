"""The largest value of one size with which a recipe fits: micro-batch, length, rank of an adapter, width."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.fit.climb import Situation
from trimtab.fit.plan import Plan

Size = Literal["batch", "length", "rank", "dim"]
SIZES: tuple[Size, ...] = get_args(Size)
LONGEST = 65536
"""`data.max_tokens` allows no more."""
HIGHEST_RANK = 4096
WIDEST = 65536


@dataclass(frozen=True, slots=True)
class Solved:
    """The largest value that fits, with its plan."""

    key: str
    value: int
    plan: Plan
    others: tuple[str, ...] = ()
    """Settings that go with it."""
    is_most: bool = False
    """Whether the search ended because a larger value is invalid or is not tried, not for lack of memory."""


def solve(situation: Situation, size: Size) -> Solved:
    """The largest value of a size that fits. InputError where not even the smallest does, and where the recipe has no
    such size."""
    recipe = situation.recipe
    match size:
        case "batch":
            facts = recipe.facts
            least = facts.targets_of_longest(recipe.data.max_tokens)
            most = recipe.step.tokens_per_step
            return _largest(situation, "step.tokens_per_micro_batch", (least, most, 1), _batch)
        case "length":
            return _largest(situation, "data.max_tokens", (16, LONGEST, 8), _length)
        case "rank":
            if recipe.adapter is None:
                raise input_error(
                    "--solve rank: the recipe has no adapter",
                    got="no `adapter`",
                    allowed="batch, length or dim",
                    fix="add `adapter: {kind: lora}` to the recipe of a pretrained model",
                )
            return _largest(situation, "adapter.rank", (1, HIGHEST_RANK, 1), _rank)
        case "dim":
            if recipe.begins_trained:
                raise input_error(
                    "--solve dim: a model that begins with trained weights has their sizes",
                    got=f"model.kind: {recipe.model.kind}"
                    + (", with warm_start" if recipe.model.warm_start else ""),
                    allowed="batch, length or rank",
                    fix="`--solve batch`",
                )
            return _largest(situation, "model.dim", (_unit(recipe), WIDEST, _unit(recipe)), _dim)
        case _:
            assert_never(size)


Change = Callable[[Recipe, int], tuple[Recipe, tuple[str, ...]]]


def _largest(situation: Situation, key: str, bounds: tuple[int, int, int], changed: Change) -> Solved:
    """By halving: memory grows with each of these sizes."""
    least, most, unit = bounds

    def at(units: int) -> tuple[Plan, tuple[str, ...]]:
        recipe, others = changed(situation.recipe, units * unit)
        return situation.planned(recipe), others

    low, high = max(1, -(-least // unit)), most // unit
    highest = high
    plan, others = at(low)
    if not situation.fits(plan):
        from trimtab.fit.memory_size import in_gib

        raise input_error(
            f"{key}: not even the smallest value fits",
            got=f"{low * unit} needs {in_gib(plan.peak)}",
            allowed=f"{in_gib(situation.gpu.memory)}, which is what {situation.gpu.name} has",
            fix="run the command without --solve, which proposes other changes",
        )
    while low < high:
        middle = (low + high + 1) // 2
        tried, told = at(middle)
        if situation.fits(tried):
            low, plan, others = middle, tried, told
        else:
            high = middle - 1
    return Solved(key, low * unit, plan, others, is_most=low == highest)


def _with_step(recipe: Recipe, tokens: int) -> Recipe:
    step = recipe.step.model_copy(
        update={"tokens_per_micro_batch": tokens, "source_tokens_per_micro_batch": None}
    )
    return recipe.model_copy(update={"step": step})


def _batch(recipe: Recipe, tokens: int) -> tuple[Recipe, tuple[str, ...]]:
    return _with_step(recipe, tokens), ()


def _length(recipe: Recipe, length: int) -> tuple[Recipe, tuple[str, ...]]:
    """A micro-batch holds at least one example."""
    longer = recipe.model_copy(update={"data": recipe.data.model_copy(update={"max_tokens": length})})
    if recipe.facts.one_target or length <= recipe.step.micro_batch_tokens:
        return longer, ()
    step = longer.step.model_copy(
        update={"tokens_per_step": max(length, recipe.step.tokens_per_step), "tokens_per_micro_batch": length}
    )
    others = [f"step.tokens_per_micro_batch={length}"]
    if length > recipe.step.tokens_per_step:
        others.append(f"step.tokens_per_step={length}")
    return longer.model_copy(update={"step": step}), tuple(others)


def _rank(recipe: Recipe, rank: int) -> tuple[Recipe, tuple[str, ...]]:
    assert recipe.adapter is not None
    return recipe.model_copy(update={"adapter": recipe.adapter.model_copy(update={"rank": rank})}), ()


def _unit(recipe: Recipe) -> int:
    """Widths that all heads divide into even sizes."""
    own = [getattr(recipe.model, key, None) for key in ("heads", "encoder_heads", "decoder_heads")]
    heads: set[int] = {each for each in own if each}
    unit = 1
    for each in heads:
        unit = unit * each if unit % each else unit
    return 2 * unit


def _dim(recipe: Recipe, dim: int) -> tuple[Recipe, tuple[str, ...]]:
    """Feed-forward blocks keep their proportion to the width."""
    model = recipe.model
    update = {"dim": dim}
    others: list[str] = []
    for key in ("feed_forward", "encoder_feed_forward", "decoder_feed_forward"):
        width = getattr(model, key, None)
        if width is not None:
            update[key] = max(8, -(-width * dim // model.dim // 64) * 64)
            others.append(f"model.{key}={update[key]}")
    return recipe.model_copy(update={"model": model.model_copy(update=update)}), tuple(others)
