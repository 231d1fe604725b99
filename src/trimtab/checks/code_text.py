"""Words in the code of a script, comments left out: for things that a script must not do anywhere."""

from trimtab.checks.document import Document


def says(document: Document, *words: str) -> bool:
    """Whether a line has one of the words before its comment; in a notebook lines end with an escaped newline."""
    if not any(word in document.text for word in words):
        return False
    return any(
        word in line.partition("#")[0]
        for line in document.text.replace("\\n", "\n").splitlines()
        if any(word in line for word in words)
        for word in words
    )
