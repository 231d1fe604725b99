"""Warm start: reads the weights of another run once and records them in the recipe."""

from trimtab.build import Parts
from trimtab.checkpoint.resolve import split_weights
from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.inference.chosen_weights import named_place, weights_sha256
from trimtab.progress import Progress


def warm_start(parts: Parts, *, progress: Progress) -> None:
    """Puts the weights that `model.warm_start` names into the model of a run that is at step 0.

    How vocabularies that differ are mapped is the task's to say. The parts' recipe then names the very checkpoint and
    the sha256 of its weights. Raises InputError if there is no such run, the models differ, or the weights are not
    those that a resolved recipe names.
    """
    model = parts.recipe.model
    assert model.warm_start is not None, "a recipe without warm_start begins from nothing"
    place, found, told = _taken(parts, model.warm_start)
    parts.stepper.optimizer.load_state_tensors({})  # a moving average of the weights begins from these
    progress.message(f"weights of {place}: {told}")
    named = model.model_copy(update={"warm_start": place, "warm_start_sha256": found})
    parts.recipe = parts.recipe.model_copy(update={"model": named})


def take_frozen_start(parts: Parts) -> None:
    """Puts the weights that an adapter adapts into the model of a run that goes on, whose checkpoints lack them. Raises
    InputError where they are gone, or are not those that the run began with."""
    start = parts.recipe.model.warm_start
    assert start is not None, "an adapter adapts trained weights"
    _taken(parts, start)


def _taken(parts: Parts, start: str) -> tuple[str, str, str]:
    """Fills the model; gives the one checkpoint that was meant, the sha256 of its weights, and what was mapped."""
    old = parts.task.load_predictor(start, device="cpu")
    place = named_place(start, old.checkpoint, old.recipe)
    found = weights_sha256(old.checkpoint, old.recipe)
    wanted = parts.recipe.model.warm_start_sha256
    if wanted not in (None, found):
        raise input_error(
            f"model.warm_start_sha256: {place} holds other weights",
            got=found,
            allowed=wanted or "",
            fix="name the checkpoint that is meant, or leave model.warm_start_sha256 out",
        )
    return place, found, parts.task.take_weights(old, parts.datasets, parts.model, name=place)


def started_as(recipe: Recipe, begun: Recipe) -> Recipe:
    """The recipe with the start that the run had, where it names the same one; so that a resumed run reads nothing."""
    written, recorded = recipe.model.warm_start, begun.model.warm_start
    if written is None or recorded is None:
        return recipe
    if written != recorded and not may_mean(written, recorded):
        return recipe
    kept = {"warm_start": recorded, "warm_start_sha256": begun.model.warm_start_sha256}
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=kept)})


def may_mean(written: str, recorded: str) -> bool:
    """Whether a name such as `RUN@last` can have stood for the one checkpoint that a run says it began from."""
    (name, asked), (place, had) = split_weights(written), split_weights(recorded)
    run = place.rpartition("@")[0]
    return name in (place, run, f"{run}@last", f"{run}@best") and asked in (None, had or "raw")
