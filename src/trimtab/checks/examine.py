"""A file's bytes to descriptions of the runs in it: read, recognise, tell."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.registry import all_kinds, kinds_of
from trimtab.checks.read.dialects import in_dialect
from trimtab.checks.read.document import Format, read_document
from trimtab.errors import input_error

_NOTHING_AROUND = Surroundings()


def examine(
    path: str, data: bytes, *, as_kind: str | None = None, surroundings: Surroundings | None = None
) -> list[Description]:
    """The runs that a file describes; empty if it is not a configuration that trimtab knows.

    Raises InputError if the file can't be read, two kinds claim it, or `as_kind` is none.
    """
    kind = named_kind(as_kind) if as_kind is not None else None
    return examine_document(
        read_document(path, data, syntax=syntax_for(path, kind)), kind=kind, surroundings=surroundings
    )


def examine_document(
    document: Document, *, kind: Kind | None = None, surroundings: Surroundings | None = None
) -> list[Description]:
    """The runs of a document that is read already."""
    kind = kind or recognise(document)
    if kind is None:
        return []
    return kind.describe(in_dialect(document, kind.dialect), surroundings or _NOTHING_AROUND)


def recognise(document: Document) -> Kind | None:
    """The kind of a document, None if no kind knows it; raises InputError if two do."""
    found = [kind for kind in kinds_of(document.syntax) if kind.recognises(document)]
    if len(found) > 1:
        raise input_error(
            f"{document.path}: whose configuration is it?",
            got=" or ".join(kind.title for kind in found),
            fix="say it: " + " or ".join(f"`--as {kind.name}`" for kind in found),
            where=document.path,
        )
    return found[0] if found else None


def named_kind(name: str) -> Kind:
    """The kind of a name, as `--as` takes it; raises InputError with the nearest if there is none."""
    from difflib import get_close_matches  # late: few files need it

    kinds = {kind.name: kind for kind in all_kinds()}
    if name in kinds:
        return kinds[name]
    near = get_close_matches(name.lower().replace("_", "-"), kinds, n=1) or [
        kind.name for kind in kinds.values() if name.lower() in (kind.tool, kind.title.lower())
    ]
    raise input_error(
        f"--as {name}: there is no such kind",
        got=name,
        allowed=", ".join(sorted(kinds)),
        fix=f"did you mean `--as {near[0]}`?" if near else "name one of these",
    )


def syntax_for(path: str, kind: Kind | None) -> Format | None:
    """The syntax that a kind has for a file whose name says none; None if name or content decide."""
    from pathlib import PurePath

    from trimtab.checks.read.document import SUFFIXES

    if kind is None or PurePath(path).suffix.lower() in SUFFIXES or len(kind.syntaxes) != 1:
        return None
    return next(iter(kind.syntaxes))
