"""The Markdown of our own pages as HTML: headings, paragraphs, quotes, lists, code, links. Everything is escaped
first, so that no text becomes a tag that is not written here."""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<em>\1</em>"),
    (re.compile(r"&lt;(https?://[^\s&\"'<>]+)&gt;"), r'<a href="\1" rel="noreferrer">\1</a>'),
    (re.compile(r"\[([^\]]+)\]\((https?://[^\s)\"'<>]+)\)"), r'<a href="\2" rel="noreferrer">\1</a>'),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),  # a link to a page of the documentation, which is not here
)


def html_of(text: str) -> Markup:
    """A page as HTML; headings are of the third level, as below what to do next."""
    return Markup("\n".join(_blocks(text.splitlines())))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("```")), len(lines))
            code = "\n".join(lines[at + 1 : end])
            yield f'<pre tabindex="0"><code>{escape(code)}</code></pre>'
            at = end + 1
        elif line.startswith("#"):
            yield f"<h3>{_inline(line.lstrip('# '))}</h3>"
            at += 1
        elif line.startswith("- "):
            end = next(
                (n for n in range(at, len(lines)) if not lines[n].startswith(("- ", "  "))), len(lines)
            )
            items = "\n".join(lines[at:end])[2:].split("\n- ")
            yield "<ul>" + "".join(f"<li>{_inline(' '.join(each.split()))}</li>" for each in items) + "</ul>"
            at = end
        elif not line.strip():
            at += 1
        else:
            end = next((n for n in range(at, len(lines)) if not _is_prose(lines[n])), len(lines))
            end = max(end, at + 1)
            tag = "blockquote" if line.startswith(">") else "p"
            yield f"<{tag}>{_inline(' '.join(each.removeprefix('> ') for each in lines[at:end]))}</{tag}>"
            at = end


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("#", "- ", "```"))


def _inline(text: str) -> str:
    """Code first and by itself: what is in it stays as it is."""
    parts = re.split(r"(`[^`]+`)", str(escape(text)))
    return "".join(_marked(part, _INLINE[:1] if part.startswith("`") else _INLINE[1:]) for part in parts)


def _marked(text: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
