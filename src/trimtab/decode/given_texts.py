"""Checks that texts are given as a list: a single text would be read as a list of characters."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from trimtab.errors import input_error

SHOWN = 40
"""Characters of a text that a message shows."""
Document = TypeVar("Document", bound=Iterable[str])


def check_texts(texts: object, *, name: str) -> None:
    """InputError if `texts`, which messages call `name`, is one text or bytes, or nothing that holds texts."""
    if not isinstance(texts, Iterable):
        raise input_error(
            f"{name}: not a list of texts",
            got=_shown(texts),
            allowed="a list of texts, each a str",
            fix="put the texts into a list",
        )
    if not isinstance(texts, str | bytes | bytearray):
        return
    more = f" and {len(texts) - SHOWN:,} more" if len(texts) > SHOWN else ""
    raise input_error(
        f"{name}: a single text, whose characters would count as texts",
        got=f"{type(texts).__name__}: {texts[:SHOWN]!r}{more}",
        allowed="a list of texts, each a str",
        fix='put it into a list: ["..."]',
    )


def checked_texts(texts: Iterable[Any], *, name: str) -> Iterable[str]:
    """The same texts; InputError as `check_texts`, and for the first that is none.

    Those of a list are looked at now, those that come one after another when their turn comes.
    """
    check_texts(texts, name=name)
    if not isinstance(texts, list | tuple):
        return _each_text(texts, name)
    for _ in _each_text(texts, name):
        pass
    return texts


def checked_documents(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, each looked at when its turn comes; InputError if one of them is a text, or all together."""
    check_texts(documents, name="documents")
    return _each_checked(documents)


def _each_checked(documents: Iterable[Document]) -> Iterator[Document]:
    for number, document in enumerate(documents, start=1):
        check_texts(document, name=f"document {number}")
        if isinstance(document, list | tuple):
            checked_texts(document, name=f"document {number}")
        yield document


def _each_text(texts: Iterable[Any], name: str) -> Iterator[str]:
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise input_error(
                f"{name}: number {number} is not a text",
                got=_shown(text),
                allowed="a list of texts, each a str",
                fix="leave it out, or give '' for an empty line; bytes are decoded first",
            )
        yield text


def _shown(value: object) -> str:
    return f"{type(value).__name__}: {value!r}"[:SHOWN]
