"""Resolves what a recipe leaves open: the shape of packed batches, precision, kernels."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trimtab.config.run import Recipe
from trimtab.data.shape import PackShape, plan_shape, without_slack
from trimtab.model.tiled.tiles import LONGEST
from trimtab.step.precision import Resolved


def shape_for(
    recipe: Recipe,
    lengths: tuple[np.ndarray, np.ndarray],
    *,
    packed: bool,
    slots_per_target: float = 1.0,
    ranks: int = 1,
) -> PackShape:
    """The shape of all packs: fixed for kernels that are compiled, sorted by length where attention pads rows.

    `slots_per_target` is above 1 where some target tokens are only context: they count in packs, not in steps. A step
    has a multiple of `ranks` packs.
    """
    shape = plan_shape(
        tokens_per_step=math.ceil(recipe.step.tokens_per_step * slots_per_target),
        tokens_per_micro_batch=recipe.step.micro_batch_tokens,
        lengths=lengths,
        max_tokens=recipe.data.max_tokens,
        ranks=ranks,
        fixed=packed,
        sort=not packed,
    )
    if slots_per_target == 1.0 and recipe.translates and recipe.model.has_encoder:
        shape = without_slack(shape, tokens_per_step=recipe.step.tokens_per_step)
    shape = replace(shape, prefix=recipe.model.reads_prefix, full_first=may_be_rows(recipe, shape))
    given = recipe.step.source_tokens_per_micro_batch
    return shape if given is None else replace(shape, source_slots=max(given, shape.source_max_seqlen))


def may_be_rows(recipe: Recipe, shape: PackShape) -> bool:
    """Whether attention may take full documents as rows. Elsewhere packs keep their order and say of none that it is
    full, since steps with other numbers of full documents are recorded separately."""
    return shape.target_max_seqlen > LONGEST and not recipe.step.deterministic


def resolve_auto(
    recipe: Recipe, batching: Mapping[str, Any], *, precision: Resolved, compiled: bool, graphed: bool
) -> Recipe:
    """The recipe with what was left to be chosen filled in, so that a resumed run chooses the same; `batching` is what
    the task chose for its batches."""
    filled: dict[str, Any] = {
        "precision": precision,
        "compile": "on" if compiled else "off",
        "cuda_graph": "on" if graphed else "off",
        "tokens_per_micro_batch": recipe.step.micro_batch_tokens,
        **batching,
    }
    return recipe.model_copy(update={"step": recipe.step.model_copy(update=filled)})
