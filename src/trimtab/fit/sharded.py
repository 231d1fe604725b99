"""What several processes change in the memory of each of them: shares of weights, and what they exchange.

With `parallel: {kind: fsdp}` a process holds its rows of each tensor, and gathers a layer while it runs
(`distributed/sharding.py`); with `data_parallel` it holds everything, and sums gradients in a buffer.
"""

from dataclasses import replace
from typing import NamedTuple

from trimtab.config.run import Recipe
from trimtab.config.sharding import sharding_contradictions
from trimtab.config.tasks.modular import modular_contradictions
from trimtab.fit.activations import Program
from trimtab.fit.shape import Shape, Weights

NUMBERS_AT_ONCE = 1 << 25
"""Of gradients in one buffer, as `torch_ranks` sums them."""
TABLES = ("embedding", "output", "position")
"""Parts that are gathered for the whole step, in the precision in which they are kept."""


class Gathered(NamedTuple):
    """Bytes of what a process has for a moment beside its shares."""

    tables: int = 0
    """Embeddings and output, whole, from the beginning of the forward pass to the end of the backward pass."""
    last_layer: int = 0
    """The layer that stays gathered between both passes."""
    layers: int = 0
    """A layer, the next one, which is gathered meanwhile, and the buffer in which it arrives."""
    gradients: int = 0
    """Of a whole layer, and the buffer in float32 from which they are summed."""
    table_gradients: int = 0
    """The same of embeddings and output."""


def is_sharded(recipe: Recipe, ranks: int) -> bool:
    """Whether each process holds a share of the weights."""
    return ranks > 1 and recipe.parallel.kind == "fsdp"


def share_of(weights: Weights, ranks: int) -> Weights:
    """What the process with the most rows holds of tensors; gains of norms are whole on each."""
    if weights.part == "vector" and not weights.name.endswith(".bias"):
        return weights
    first, *rest = weights.shape
    return replace(weights, shape=(-(-first // ranks), *rest))


def gathered(shape: Shape, how: Program, *, frozen_table: int) -> Gathered:
    """Bytes beside the shares; `frozen_table` are those of a number of embeddings that are not trained."""
    tables = [each for each in shape.weights if each.part in TABLES]
    trained = sum(each.numbers for each in tables if each.trained)
    frozen = sum(each.numbers for each in tables if not each.trained)
    numbers, learned = _largest_layer(shape)
    half = how.half
    return Gathered(
        tables=how.weight * trained + frozen_table * frozen,
        last_layer=half * numbers,
        layers=3 * half * numbers,
        gradients=(half + 4) * learned,
        table_gradients=2 * 4 * trained,
    )


def _largest_layer(shape: Shape) -> tuple[int, int]:
    """Numbers of the linear maps of a layer of the larger side, and those of them that are trained."""
    found: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    for each in shape.weights:
        if (each.is_linear and each.count > 1) or each.part == "adapter":
            side = found[each.name.startswith("encoder")]
            side[0] += each.each
            side[1] += each.each if each.trained else 0
    numbers, learned = max(found.values())
    return numbers, learned


def sum_bytes(weights: list[Weights]) -> int:
    """The buffer in which gradients of whole tensors are summed over processes."""
    total, largest = sum(each.numbers for each in weights), max((each.each for each in weights), default=0)
    return 4 * min(total, max(NUMBERS_AT_ONCE, largest))


def whole_at_the_start(shape: Shape, how: Program, recipe: Recipe, *, shares: int) -> int:
    """Bytes of a process before its weights are sharded: the first weights of the whole model, in float32; with
    weights from files, later a whole copy beside the shares, in the precisions that the run keeps."""
    drawn = 4 * shape.parameters
    if not recipe.begins_trained:
        return drawn
    narrow = recipe.adapter is not None and how.packed and how.precision == "bf16_mixed"
    copied = sum(
        (2 if narrow and not each.trained and len(each.shape) == 2 else how.weight) * each.numbers
        for each in shape.weights
    )
    return max(drawn, shares + copied)


def trains_on(recipe: Recipe, ranks: int) -> bool:
    """Whether so many processes can train it; see `build.refuse_released_gradients`, `config.sharding` and
    `config.tasks.modular`."""
    if [*modular_contradictions(recipe)]:
        return False
    step = recipe.step
    if ranks > 1 and (step.gradients != "kept" or step.offload != "none" or step.precision == "bf16"):
        return False
    return not is_sharded(recipe, ranks) or not [*sharding_contradictions(recipe)]
