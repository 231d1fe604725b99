"""Whether embeddings are tied as the recipe says, when they are built and after weights were loaded; and whether
loading brings every weight back."""

import copy
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from trimtab.finding import Finding
from trimtab.run_findings.built_parts import TIED_WEIGHTS_APART, WEIGHTS_LOST_IN_LOADING
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.weights import named


@runtime_checkable
class TiesMatrices(Protocol):
    """A model that uses a matrix in more than one place where its settings say so."""

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as said; empty where all are."""
        ...


def weights_survive_loading(parts: Checked) -> Iterator[Finding]:
    """A copy of the model, emptied, into which the model's weights are loaded as a checkpoint's are."""
    if apart := wrongly_tied(parts.model):
        yield not_tied(parts, apart, when="")
        return
    again = copy.deepcopy(parts.model)
    with torch.no_grad():
        for weight in again.parameters():
            weight.zero_()
    again.load_state_dict(parts.model.state_dict())
    if apart := wrongly_tied(again):
        yield not_tied(parts, apart, when=" after weights were loaded")
    loaded = dict(again.named_parameters())
    lost = [
        name
        for name, weight in parts.model.named_parameters()
        if name not in loaded or not torch.equal(weight, loaded[name])
    ]
    if lost:
        yield WEIGHTS_LOST_IN_LOADING.found(
            f"loaded from the model's own weights, {named(lost)} is not what it was"
        )


def wrongly_tied(model: nn.Module) -> str:
    """Which matrices are not tied as said, where the model can tell; empty where all are."""
    return model.wrongly_tied() if isinstance(model, TiesMatrices) else ""


def not_tied(parts: Checked, matrices: str, *, when: str) -> Finding:
    """The finding for these matrices."""
    tied = str(parts.recipe.model.tie_embeddings).lower()
    return TIED_WEIGHTS_APART.found(f"{matrices} are not what tie_embeddings: {tied} says{when}")
