"""Shortens defaults that are too long for a short run; explicit values never change."""

from trimtab.config.mup import with_mup
from trimtab.config.run import Recipe
from trimtab.config.schedules import Noam
from trimtab.units import Duration

SHARE = 20
"""A default warmup that is longer than the run becomes one part in so many of it."""
EVALUATIONS = 10
"""So many there are, by default, in a run that is shorter than the default time between two."""


def fitting_warmup(length: Duration) -> Duration:
    """The warmup of a run that is too short for the default one."""
    return Duration(float(max(1, length.count // SHARE)), length.unit)


def fitted(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe with what nobody wrote made to fit its `length`, and a line for each value that a reader would not
    expect.

    What is filled in still counts as not written: a resumed run with another `length` keeps its warmup, and is
    evaluated as often as suits that length.
    """
    recipe, notes = _with_fitting_warmup(recipe)
    recipe, more = _with_fitting_evaluations(recipe)
    return with_mup(recipe), (*notes, *more)


def _with_fitting_warmup(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
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
    note = f"step.schedule.warmup is set to {warmup}, since its default, {usual}, is longer than the run, {length}"
    return recipe.model_copy(update={"step": step}), (note,)


def _with_fitting_evaluations(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """A default that would leave one evaluation, at the end, is made to fit without a word, since evaluations change
    nothing of the training; a metric that could end the run (`patience`) stays and is reported, like any setting that
    the recipe gives."""
    every, length = recipe.evaluate.every, recipe.length
    if not recipe.data.valid or every.unit != length.unit or every.count <= length.count:
        return recipe, ()
    if recipe.evaluate.patience is not None:
        return recipe, (
            f"evaluate.patience has no effect: evaluate.every, {every}, is longer than the run, {length}",
        )
    if "every" in recipe.evaluate.model_fields_set:
        return recipe, (
            f"evaluate.every, {every}, is longer than the run, {length}: the only evaluation is at its end",
        )
    often = Duration(float(max(1, length.count // EVALUATIONS)), length.unit)
    evaluate = recipe.evaluate.model_copy(update={"every": often})
    evaluate.model_fields_set.discard("every")
    return recipe.model_copy(update={"evaluate": evaluate}), ()
