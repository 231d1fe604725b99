"""Silences in comments: `# trimtab: allow S104 because it is a smoke test`.

On a line with a setting it is meant for that line; on a line of its own for the next line that says something; and
`allow S104 in this file because ...` wherever it stands for the whole file.
"""

import re
from collections.abc import Iterator

from trimtab.checks.document import Document
from trimtab.checks.place import Place
from trimtab.checks.silence.silence import Silence

_MARK = re.compile(r"^\s*trimtab\s*:\s*(.*)$", re.IGNORECASE)
_ALLOW = re.compile(
    r"^allow\s+(?P<rules>[^\s,]+(?:\s*,\s*[^\s,]+)*)(?P<file>\s+in\s+this\s+file)?(?:\s+because\b[\s:]*(?P<because>.*))?$",
    re.IGNORECASE,
)


def silences_of_comments(document: Document) -> tuple[list[Silence], list[tuple[Place, str]]]:
    """The silences of a file, and comments that address trimtab but say nothing it knows, with their text."""
    silences: list[Silence] = []
    strange: list[tuple[Place, str]] = []
    for place, text in _addressed(document):
        match = _ALLOW.match(text)
        if match is None:
            strange.append((place, text))
            continue
        line = 0 if match["file"] else _line_meant(document, place.line)
        rules = tuple(word.strip() for word in match["rules"].split(","))
        silences.append(
            Silence(rules=rules, because=(match["because"] or "").strip(), place=place, line=line)
        )
    return silences, strange


def _addressed(document: Document) -> Iterator[tuple[Place, str]]:
    for line, comment in document.comments:
        if match := _MARK.match(comment):
            yield Place(document.path, line, _column(document, line)), match[1].strip()


def _column(document: Document, line: int) -> int:
    lines = document.text.splitlines()
    found = lines[line - 1].find("#") if 0 < line <= len(lines) else -1
    return max(found, 0) + 1


def _line_meant(document: Document, line: int) -> int:
    lines = document.text.splitlines()
    if line <= len(lines) and not lines[line - 1].lstrip().startswith("#"):
        return line
    following = range(line, len(lines))
    return next((number + 1 for number in following if _says_something(lines[number])), line)


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
