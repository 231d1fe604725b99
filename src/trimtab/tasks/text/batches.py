"""Packs of a run on text: their shape, how many a step has, and the stream that they are cut from."""

from functools import partial

import torch

from trimtab.choices import shape_for
from trimtab.config.run import Recipe
from trimtab.data.fitting_vocabulary import with_sizes
from trimtab.data.packing import Packing
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.stream import mixture_opener, step_size
from trimtab.tasks.task import OpenMixture
from trimtab.tasks.text.datasets import TextDatasets


def plan_batches(
    recipe: Recipe, datasets: TextDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> Packing:
    """The packs of the run; `packed` gives them one shape, for kernels that are compiled once."""
    return Packing(
        shape=shape_for(
            recipe,
            datasets.lengths,
            packed=packed,
            slots_per_target=datasets.slots_per_target,
            ranks=ranks,
        ),
        symbols=datasets.tokenizers.symbols,
        tokens_per_step=recipe.step.tokens_per_step,
        tokens_at=partial(step_size, recipe.step),
        device=device,
    )


def with_vocabulary_sizes(recipe: Recipe, datasets: TextDatasets) -> Recipe:
    """The recipe with the sizes that its vocabularies came out with."""
    tokenizers = datasets.tokenizers
    data = with_sizes(recipe.data, source=tokenizers.source, target=tokenizers.target)
    return recipe.model_copy(update={"data": data})


def open_mixtures(recipe: Recipe, datasets: TextDatasets) -> OpenMixture:
    """See `Task.open_mixture`."""
    return mixture_opener(recipe, datasets.feed, batch=TextGlobalBatch, max_targets=recipe.data.max_tokens)
