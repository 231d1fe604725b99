"""The files that a recipe names, with their keys: opened so that all that is wrong is reported together."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, Protocol, TypeVar, runtime_checkable

from trimtab.config.corpora import ParallelFiles
from trimtab.config.run import Recipe
from trimtab.errors import InputError, Problem

Opened = TypeVar("Opened")


@runtime_checkable
class Marked(Sized, Protocol):
    """A corpus, as far as a resumed run has to know it again."""

    @property
    def fingerprint(self) -> str:
        """A sha256 of what it holds."""
        ...


def keyed_files(recipe: Recipe) -> tuple[tuple[list[str], list[ParallelFiles]], ...]:
    """Training corpora and validation sets, each with its keys in the recipe."""
    train, valid = recipe.data.train_by_key, recipe.data.valid_by_key
    return ([*train], [*train.values()]), ([*valid], [*valid.values()])


def open_each(recipe: Recipe, opening: Callable[[Any, str], Opened]) -> dict[str, Opened]:
    """What `opening` makes of each corpus and validation set and its key, by key; InputError with what is wrong with
    any of them."""
    files = recipe.data.files_by_key
    return each_or_problems(files, lambda key: opening(files[key], key))


def each_or_problems(keys: Iterable[str], making: Callable[[str], Opened]) -> dict[str, Opened]:
    """What is made of each key; InputError with the problems of all of them."""
    made, problems = dict[str, Opened](), list[Problem]()
    for key in keys:
        try:
            made[key] = making(key)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    return made


def of_training(opened: Mapping[str, Opened]) -> list[Opened]:
    """The training corpora among them, in the recipe's order."""
    return [each for key, each in opened.items() if key.startswith("data.train")]


def of_validation(recipe: Recipe, opened: Mapping[str, Opened]) -> dict[str, tuple[str, Opened]]:
    """For each validation set its key and what was opened, by name."""
    keys = zip(recipe.data.valid, recipe.data.valid_by_key, strict=True)
    return {name: (key, opened[key]) for name, key in keys}


def fingerprints_of(corpora: Sequence[Marked], valid: Mapping[str, Any], *, what: str) -> dict[str, str]:
    """What must not change of the data when a run resumes; `what` corpora hold, in words."""
    data = {
        f"data.train.{number}": f"{len(corpus):,} {what}, sha256 {corpus.fingerprint[:32]}"
        for number, corpus in enumerate(corpora)
    }
    return data | {f"data.valid.{name}": each.fingerprint for name, each in valid.items()}
