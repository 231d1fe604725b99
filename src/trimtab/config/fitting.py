"""Defaults that are too long for a short run, made to fit it; what is written is never changed."""

from trimtab.config.run import Recipe
from trimtab.config.schedules import Noam
from trimtab.units import Duration

SHARE = 20
"""A default warmup that is longer than the run becomes one part in so many of it."""


def fitting_warmup(length: Duration) -> Duration:
    """The warmup of a run that is too short for the default one."""
    return Duration(float(max(1, length.count // SHARE)), length.unit)


def fitted(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe with what nobody wrote made to fit its `length`, and a line for each value that is not the usual one.

    What is filled in still counts as not written, so that a run that goes on with another `length` keeps its own.
    """
    schedule, length = recipe.step.schedule, recipe.length
    usual = schedule.warmup
    if usual is None or "warmup" in schedule.model_fields_set or isinstance(schedule, Noam):
        return recipe, ()  # the peak of `noam` follows from its warmup: to shorten it is the user's decision
    if usual.unit != length.unit or usual.count <= length.count:
        return recipe, ()
    warmup = fitting_warmup(length)
    shorter = schedule.model_copy(update={"warmup": warmup})
    shorter.model_fields_set.discard("warmup")
    step = recipe.step.model_copy(update={"schedule": shorter})
    note = f"step.schedule.warmup is {warmup}: the default, {usual}, is longer than the run, {length}"
    return recipe.model_copy(update={"step": step}), (note,)
