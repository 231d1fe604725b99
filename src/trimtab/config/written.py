"""Adds the line of a recipe key to problems that stages report, since stages only see values."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from trimtab.config.load import LoadedRecipe
from trimtab.config.run import Recipe
from trimtab.errors import InputError, Problem

_BRANCHES = "|".join(Recipe.model_fields)
_KEY = re.compile(rf"recipe\.([^\s:]+)|((?:{_BRANCHES})(?:\.[^\s:]+|(?=:)))")
"""`recipe.seed`, `step.precision`, or `data:`, at the beginning of a problem."""


@contextmanager
def lines_added(loaded: LoadedRecipe) -> Generator[None, None, None]:
    """Problems of keys that come out of the block have the line where the key is written, unless they have a place."""
    try:
        yield
    except InputError as error:
        error.problems = tuple(_placed(problem, loaded) for problem in error.problems)
        error.args = ("\n".join(map(str, error.problems)),)
        raise


def _placed(problem: Problem, loaded: LoadedRecipe) -> Problem:
    found = _KEY.match(problem.what)
    if found is None or problem.where:
        return problem
    return replace(problem, where=loaded.where(found[1] or found[2]))
