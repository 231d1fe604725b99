"""What checks and builds the documentation asks of a Markdown page: its links, its headings, its blocks of code."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^([ \t]*)(```+|~~~+)([^\n]*)\n(.*?)^[ \t]*\2[ \t]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$", re.MULTILINE)
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


HTML = re.compile(r"</?([A-Za-z][\w-]*)(?:\s[^<>]*)?>")
ELEMENTS = {"a", "br", "details", "div", "img", "kbd", "p", "sub", "summary", "sup"}
"""HTML that pages may have; any other name in angle brackets was meant to be read, and a browser would hide it."""


class Block(NamedTuple):
    """A fenced block of code."""

    language: str
    text: str
    line: int
    """Of its fence, from 1."""
    marks: tuple[str, ...]
    """The comments right above it, without their brackets."""


def links(text: str) -> list[str]:
    """Where the links and images of a page lead, in order; what is shown as code has none."""
    found: list[str] = []
    rewritten(text, lambda target: found.append(target) or target)
    return found


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The page with `change` applied to where each link and each image leads, and nothing else changed."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    for pattern in (FENCE, COMMENT, CODE):
        text = pattern.sub(keep, text)
    text = LINK.sub(lambda match: f"{match[1]}{change(match[2])}{match[3]}", text)
    while "\0" in text:
        text = re.sub(r"\0(\d+)\0", lambda match: kept[int(match[1])], text)
    return text


def hidden(text: str) -> list[str]:
    """What stands in angle brackets outside code, and would not be shown because browsers take it for an element."""
    for pattern in (FENCE, COMMENT, CODE):
        text = pattern.sub("", text)
    return [match[0] for match in HTML.finditer(text) if match[1].lower() not in ELEMENTS]


def is_external(target: str) -> bool:
    """Whether a link leaves the repository."""
    return bool(SCHEME.match(target)) or target.startswith("//")


def anchors(text: str) -> set[str]:
    """The anchors of a page that GitHub and the site's generator both give its headings."""
    plain = FENCE.sub("", COMMENT.sub("", text))
    titles = [_shown(match[2]) for match in HEADING.finditer(plain)]
    return _numbered(map(_github, titles), "-") & _numbered(map(_python_markdown, titles), "_")


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        above = re.search(r"(?:<!--[^\n]*-->\s*\n\s*)+\Z", before)
        marks = tuple(re.findall(r"<!--\s*(.*?)\s*-->", above[0])) if above else ()
        yield Block(match[3].strip(), match[4], before.count("\n") + 1, marks)


def target_of(page: Path, target: str) -> tuple[Path, str]:
    """The file that a link of a page leads to, and its anchor."""
    path, _, anchor = target.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


def _shown(title: str) -> str:
    """A heading as it is read: without the marks of code, emphasis and links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("**", "")


def _github(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _python_markdown(title: str) -> str:
    text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def _numbered(names: Iterator[str], separator: str) -> set[str]:
    """Names of headings, the second of the same name with `separator` and 1."""
    seen: dict[str, int] = {}
    result: set[str] = set()
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        result.add(f"{name}{separator}{count}" if count else name)
    return result
