"""Whether texts that were handed over are a list of them: one text alone would be taken for its characters."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from trimtab.errors import input_error

SHOWN = 40
"""Characters of a text that a message shows."""
Document = TypeVar("Document", bound=Iterable[str])


def check_texts(texts: object, *, name: str) -> None:
    """InputError where `texts`, which messages call `name`, is one text or bytes and not a list of texts."""
    if not isinstance(texts, str | bytes | bytearray):
        return
    more = f" and {len(texts) - SHOWN:,} more" if len(texts) > SHOWN else ""
    raise input_error(
        f"{name}: one text, whose characters would be taken for texts",
        got=f"{type(texts).__name__}: {texts[:SHOWN]!r}{more}",
        allowed="a list of texts, each a str",
        fix='put it into a list: ["..."]',
    )


def checked_documents(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, each looked at when its turn comes; InputError where one of them is a text, or all together."""
    check_texts(documents, name="documents")
    return _each_checked(documents)


def _each_checked(documents: Iterable[Document]) -> Iterator[Document]:
    for number, document in enumerate(documents, start=1):
        check_texts(document, name=f"document {number}")
        yield document
