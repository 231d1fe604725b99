"""Our own recipe: read by `config`, which says itself what is wrong with it, and then told like any other run."""

from pathlib import Path

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import mapping, names_of
from trimtab.checks.kinds.written import settings_of

BRANCHES = frozenset(
    {"task", "data", "model", "loss", "step", "length", "evaluate", "checkpoint", "export", "log", "seed"}
)
OF_OTHERS = frozenset({"training", "tasks", "base_model", "model_name_or_path", "save_model", "src_vocab"})


def recognises(document: Document) -> bool:
    """`step` or `length` beside `data` or `model`, or data in the recipe's own shape."""
    names = names_of(document)
    if names & OF_OTHERS:
        return False
    has_shape = "train" in mapping(mapping(document.tree).get("data"))
    return has_shape or (bool(names & {"step", "length"}) and len(names & BRANCHES) >= 3)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """The run; raises `InputError` with everything that is wrong with the recipe, each problem with its line."""
    # Slow to import, and only needed for recipes.
    from trimtab.checks.kinds.recipe_parts.branches import Branches, put_branches
    from trimtab.config.load import parse_recipe

    loaded = parse_recipe(document.text, path=Path(document.path))
    settings = settings_of(document.entries.values())
    concepts: Concepts = {}
    put_branches(concepts, Branches(loaded.recipe, settings, document.path))
    return [
        Description(
            tool="trimtab",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="recipe",
    tool="trimtab",
    title="trimtab recipe",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
    dialect="yaml12",
)
