"""The model that a recipe on text describes, sized by its vocabularies."""

from typing import Protocol, runtime_checkable

import torch

from trimtab.config.run import Recipe
from trimtab.model.kinds import Model, model_of

POSITIONS_MULTIPLE = 64


@runtime_checkable
class Vocabulary(Protocol):
    """A tokenizer, as far as it matters here."""

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        ...


@runtime_checkable
class Vocabularies(Protocol):
    """Those of both sides."""

    @property
    def source(self) -> Vocabulary:
        """Of what is read."""
        ...

    @property
    def target(self) -> Vocabulary:
        """Of what is written."""
        ...


def build_model(recipe: Recipe, vocabularies: Vocabularies, *, device: torch.device) -> Model:
    """The model with its first weights, which follow from the recipe's seed."""
    longest = -(-recipe.data.max_tokens // POSITIONS_MULTIPLE) * POSITIONS_MULTIPLE
    return model_of(
        recipe.model,
        num_ids=vocabularies.target.num_ids,
        num_source_ids=vocabularies.source.num_ids,
        max_positions=longest,
        seed=recipe.seed,
    ).to(device)
