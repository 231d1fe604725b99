"""Words in the code of a script, comments left out: for things that a script must not do anywhere."""

from trimtab.checks.document import Document


def says(document: Document, *words: str) -> bool:
    """Whether a line has one of the words before its comment; in a notebook lines end with an escaped newline."""
    texts = (document.text, *(document.flow.texts if document.flow is not None else ()))
    return any(_stands(text, word) for text in texts for word in words)


def may_say(document: Document, *words: str) -> bool:
    """Whether a text has one of the words, in a comment or not: asked before all calls of a script are read. A document
    without its text may say anything."""
    return not document.text or any(word in document.text for word in words)


def _stands(text: str, word: str) -> bool:
    at = text.find(word)
    while at >= 0:
        start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at))
        start = max(start, text.rfind("\\n", start + 1, at))
        if text.find("#", start + 1, at) < 0:
            return True
        at = text.find(word, at + 1)
    return False
