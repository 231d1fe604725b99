"""The weights that a run begins from, where they are not untrained ones: of another run, or of a pretrained model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from trimtab.build import Parts
from trimtab.config.run import Model
from trimtab.model.freeze import matched
from trimtab.model.lora import begin_adapter, described
from trimtab.model.pretrained import fill_pretrained
from trimtab.progress import Progress
from trimtab.training.warm_start import take_frozen_start, warm_start


def begin_from_weights(parts: Parts, *, progress: Progress) -> None:
    """Puts the weights that the recipe names into the model of a run that is at step 0, and records their sha256.

    Raises InputError where there are none, they belong to another model, or they are not those that a resolved recipe
    names.
    """
    if parts.recipe.begins_trained:
        with _whole(parts) as whole:
            _begin_trained(whole, progress=progress)
        parts.recipe = whole.recipe
    if parts.recipe.adapter is not None:
        parts.stepper.optimizer.load_state_tensors({})  # a moving average of the weights begins from these
        progress.message(described(parts.model, parts.recipe.adapter))


@contextmanager
def _whole(parts: Parts) -> Iterator[Parts]:
    """Parts whose model has all weights, for the time of the block. Of a model that is divided among ranks, the weights
    that the block leaves are divided again."""
    if parts.sharding is None:
        yield parts
        return
    whole = replace(parts, model=parts.sharding.plain_copy(parts.model, dtype=None), sharding=None)
    yield whole
    parts.sharding.load(parts.model.state_dict(), whole.model.state_dict())
    parts.stepper.optimizer.load_state_tensors({})  # a moving average of the weights begins from these


def _begin_trained(parts: Parts, *, progress: Progress) -> None:
    new = _untrained(parts.model, parts.recipe.reinitialize)
    if parts.recipe.model.warm_start is not None:
        warm_start(parts, progress=progress)
    else:
        _pretrained_start(parts, parts.recipe.model, progress=progress)
    _put_back(parts, new, progress=progress)
    if parts.recipe.adapter is not None:
        begin_adapter(parts.model)


def _untrained(model: nn.Module, patterns: Sequence[str]) -> dict[str, Tensor]:
    """Copies of the weights whose names match, as they are before trained ones are put in; InputError for a pattern
    that matches none."""
    names = matched(model, patterns, key="reinitialize")
    return {name: each.detach().clone() for name, each in model.named_parameters() if name in names}


@torch.no_grad()
def _put_back(parts: Parts, weights: Mapping[str, Tensor], *, progress: Progress) -> None:
    """Gives weights the values that they had."""
    if not weights:
        return
    named = dict(parts.model.named_parameters())
    for name, tensor in weights.items():
        named[name].copy_(tensor)
    parts.stepper.optimizer.load_state_tensors({})  # a moving average of the weights begins from these
    progress.message(f"reinitialize: {len(weights)} of {len(named)} weights begin untrained")


def load_frozen_weights(parts: Parts) -> None:
    """Puts the weights that no checkpoint of the run holds into its model: those that an adapter adapts.

    Raises InputError where they are gone, or are not those that the run began with.
    """
    model = parts.recipe.model
    if parts.recipe.adapter is None:
        return
    with _whole(parts) as whole:
        if model.pretrained_path:
            fill_pretrained(whole.model, model.pretrained_path, sha256=model.pretrained_sha256)
        else:
            take_frozen_start(whole)
        begin_adapter(whole.model)


def _pretrained_start(parts: Parts, model: Model, *, progress: Progress) -> None:
    taken = fill_pretrained(parts.model, model.pretrained_path, sha256=model.pretrained_sha256)
    parts.stepper.optimizer.load_state_tensors({})  # a moving average of the weights begins from these
    progress.message(f"weights of {model.pretrained_path}: {taken}")
    named = model.model_copy(update={"sha256": taken.sha256})
    parts.recipe = parts.recipe.model_copy(update={"model": named})
