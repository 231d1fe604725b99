"""The same YAML as another tool reads it."""

from trimtab.checks.document import Dialect, Document
from trimtab.checks.read.lines import Lines


def in_dialect(document: Document, dialect: Dialect) -> Document:
    """The document with its scalars read by another tool's rules; what is not YAML stays as it is."""
    if document.syntax != "yaml" or document.nodes is None:
        return document
    from trimtab.checks.read.yaml import plant

    lines = Lines(document.path, document.text)
    return plant(document.nodes, lines=lines, comments=document.comments, dialect=dialect)
