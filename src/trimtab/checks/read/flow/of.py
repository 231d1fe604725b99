"""The flow of a document, empty if there is none to follow."""

from typing import Final

from trimtab.checks.document import Document
from trimtab.checks.read.flow.values import Flow

_EMPTY: Final = Flow(is_whole=False)


def flow_of(document: Document) -> Flow:
    """What a script does; nothing of any other file."""
    return document.flow if isinstance(document.flow, Flow) else _EMPTY
