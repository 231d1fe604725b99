"""Silences in comments: `# trimtab: allow S104 because it is a smoke test`.

On a line with a setting it is meant for that line; on a line of its own for the next line that says something; and
`allow S104 in this file because ...` wherever it stands for the whole file.
"""

import re

from trimtab.checks.document import Document
from trimtab.checks.place import Place
from trimtab.checks.read.lines import Lines
from trimtab.checks.silence.silence import Silence

_MARK = r"(?i)^\s*trimtab\s*:\s*(.*)$"
_ALLOW = (
    r"(?i)^allow\s+(?P<rules>[^\s,]+(?:\s*,\s*[^\s,]+)*)(?P<file>\s+in\s+this\s+file)?"
    r"(?:\s+because\b[\s:]*(?P<because>.*))?$"
)


def silences_of_comments(document: Document) -> tuple[list[Silence], list[tuple[Place, str]]]:
    """The suppressions of a file, and comments that address trimtab but say nothing it knows, with their text."""
    silences: list[Silence] = []
    strange: list[tuple[Place, str]] = []
    addressed = [
        (line, match[1].strip()) for line, text in document.comments if (match := re.match(_MARK, text))
    ]
    lines = Lines(document.path, document.text if addressed else "")
    meant = _lines_meant(lines, document.path.endswith(".ipynb"))
    for number, text in addressed:
        place = Place(document.path, number, max(lines.line(number).find("#"), 0) + 1)
        match = re.match(_ALLOW, text)
        if match is None:
            strange.append((place, text))
            continue
        line = 0 if match["file"] else meant[number]
        rules = tuple(word.strip() for word in match["rules"].split(","))
        silences.append(
            Silence(rules=rules, because=(match["because"] or "").strip(), place=place, line=line)
        )
    return silences, strange


def _lines_meant(lines: Lines, is_notebook: bool) -> list[int]:
    """By line number, from 1: the line itself, or of one that is only a comment the next that says something."""
    meant = [0] * (len(lines) + 1)
    following = 0
    for number in range(len(lines), 0, -1):
        text = lines.line(number).strip()
        if is_notebook:  # a line of code is a text of JSON there
            text = text.removesuffix(",").strip('"').removesuffix("\\n").strip()
        if text and not text.startswith("#"):
            meant[number] = following = number
        else:
            meant[number] = following or number
    return meant
