"""The smallest recipes of each task, and what is wrong with others."""

import pytest

from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

TEXT = {
    "data.train": "[{text: a.txt}]",
    "data.valid": "{text: b.txt}",
    "model": "{kind: decoder, preset: tiny}",
    "task": "language_model",
}
PAIRS = {**TEXT, "data.train": "[{source: a.en, target: a.de}]", "data.valid": "{source: b.en, target: b.de}"}
TRANSLATION = {**PAIRS, "task": "translation", "model": "{preset: tiny}"}


def load(kind, **changes):
    values = {"length": "1000 steps", **kind, **changes}
    return parse_recipe(
        "seed: 1\nlength: 1 steps\n", overrides=[f"{key}={value}" for key, value in values.items()]
    )


def refused(kind, changes, path, what):
    """Asserts that the changed recipe is refused at this path, for this reason."""
    with pytest.raises(InputError) as caught:
        load(kind, **changes)
    (problem,) = [each for each in caught.value.problems if each.what.startswith(path + ":")]
    assert what in problem.what
    assert problem.fix
    assert problem.where
