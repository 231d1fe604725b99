"""The flow of a document, empty if there is none to follow."""

from trimtab.checks.document import Document
from trimtab.checks.read.flow.values import EMPTY, Flow


def flow_of(document: Document) -> Flow:
    """What a script does; nothing of any other file."""
    return EMPTY if document.flow is None else document.flow
