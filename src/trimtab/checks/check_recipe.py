"""What the rules say of a recipe that is about to be trained, with what the command line sets in it."""

import json
from collections.abc import Iterator
from dataclasses import replace

from trimtab.checks.files import Files
from trimtab.checks.findings import findings_of
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis
from trimtab.checks.selection import chosen_rules
from trimtab.checks.silence.run import Silences
from trimtab.config.load import LoadedRecipe
from trimtab.finding import Finding

TOLD_BEFORE = ("M121", "E104")
"""Rules that `train` has other words for: wrong input with every key that is to blame, and a note of the loader."""


def check_recipe(loaded: LoadedRecipe) -> list[Finding]:
    """The findings of `trimtab check` for the recipe with its overrides, in the order of the file; what the file or
    its project allows is left out. A rule that fails is left out too: it is a bug, and no reason not to train."""
    files, path = Files(as_kind="recipe"), str(loaded.path)
    text = json.dumps(loaded.tree, default=str) if loaded.overridden else loaded.text  # JSON is YAML too
    chosen = chosen_rules((), TOLD_BEFORE)
    diagnoses, _ = findings_of(files.describe(files.parse(path, text.encode())), chosen)
    placed = [*_placed(diagnoses, loaded)] if loaded.overridden else diagnoses
    told = Silences(chosen, ()).apply(files.parse(path, loaded.text.encode()), placed)
    return [diagnosis.finding for diagnosis in told if diagnosis in placed]


def _placed(diagnoses: list[Diagnosis], loaded: LoadedRecipe) -> Iterator[Diagnosis]:
    """The diagnoses with the places that their keys have in the file, or on the command line."""
    for diagnosis in diagnoses:
        key = diagnosis.key
        while key and key not in loaded.positions:
            key = key.rpartition(".")[0]
        position = loaded.positions.get(key) if key else None
        place = Place(str(loaded.path), position.line, position.column) if position else diagnosis.place
        finding = replace(diagnosis.finding, where=loaded.where(diagnosis.key))
        yield replace(diagnosis, finding=finding, place=place)
