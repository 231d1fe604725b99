"""Axolotl: the file that says where in a cloud a run is started; no run by itself."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import mapping, names_of
from trimtab.checks.kinds.written import settings_of

PROVIDERS = frozenset({"modal", "baseten"})


def recognises(document: Document) -> bool:
    """A provider that it has code for, beside a GPU or a project."""
    names = names_of(document)
    return str(mapping(document.tree).get("provider")) in PROVIDERS and bool(names & {"gpu", "project_name"})


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """The keys alone."""
    settings = settings_of(document.entries.values())
    return [
        Description(
            tool="axolotl",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="axolotl-cloud",
    tool="axolotl",
    title="Axolotl's settings of a cloud",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
