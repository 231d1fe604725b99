"""A shell script as commands of words, each word with its place; nothing is expanded."""

import re
from collections.abc import Iterator

from trimtab.checks.record import record

_BLANK = re.compile(r"(?:[ \t]+|\\\r?\n)+")
_COMMENT = re.compile(r"#([^\r\n]*)")
_ENDS = re.compile(r"\r\n|[\r\n]|;;&?|;&?|&&|\|\|?&?|&(?!>)|[()]")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<>|>>|>&|<&|>\||&>>?|[<>](?!\())[-0-9]*[ \t]*")
_HEREDOC = re.compile(r"[0-9]*<<(-?)[ \t]*(['\"]?)([\w.-]+)\2")
_PLAIN = re.compile(r"[^\s\\'\"$`|&;()<>]+")
_VARIABLE = re.compile(r"\$(?:\w+|[@*#?$!-])")
_DOUBLE = re.compile(r'[^"\\$`]+')
_NESTED = {"$(": ")", "${": "}", "<(": ")", ">(": ")"}


@record
class Word:
    """One word of a command; `text` is None if a variable or a command decides."""

    text: str | None
    start: int
    end: int
    raw: str


@record
class Commands:
    """What is in a script."""

    commands: tuple[tuple[Word, ...], ...]
    comments: tuple[tuple[int, str], ...]
    """Offset and text."""
    open_quote: int | None
    """Offset of a quote that is never closed."""


def split(text: str) -> Commands:
    """Takes a script apart; what is behind a quote that is not closed is left out."""
    return _Splitter(text).split()


class _Splitter:
    """Reads from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.words: list[Word] = []
        self.commands: list[tuple[Word, ...]] = []
        self.comments: list[tuple[int, str]] = []
        self.heredocs: list[tuple[str, bool]] = []
        self.open_quote: int | None = None

    def split(self) -> Commands:
        while self.at < len(self.text) and self.open_quote is None:
            self.step()
        self.finish()
        return Commands(tuple(self.commands), tuple(self.comments), self.open_quote)

    def step(self) -> None:
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        elif found := _COMMENT.match(self.text, self.at):
            self.comments.append((self.at, found[1].strip()))
            self.at = found.end()
        elif found := _HEREDOC.match(self.text, self.at):
            self.heredocs.append((found[3], bool(found[1])))
            self.at = found.end()
        elif found := _REDIRECTION.match(self.text, self.at):
            self.at = found.end()
            self.word()
        elif found := _ENDS.match(self.text, self.at):
            self.at = found.end()
            self.finish()
            if found[0][-1] in "\r\n":
                self.skip_heredocs()
        elif word := self.word():
            self.words.append(word)
        else:
            self.at += 1

    def finish(self) -> None:
        if self.words:
            self.commands.append(tuple(self.words))
        self.words = []

    def skip_heredocs(self) -> None:
        while self.heredocs:
            name, _ = self.heredocs.pop(0)
            end = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*\r?$", re.MULTILINE).search(self.text, self.at)
            self.at = end.end() if end else len(self.text)

    def word(self) -> Word | None:
        start, parts, is_known = self.at, list[str](), True
        for part in self.parts():
            is_known = is_known and part is not None
            parts.append(part or "")
        if self.at == start or self.open_quote is not None:
            return None
        return Word("".join(parts) if is_known else None, start, self.at, self.text[start : self.at])

    def parts(self) -> Iterator[str | None]:
        """The pieces of the word that begins here; None for what is not known."""
        while self.at < len(self.text) and self.open_quote is None:
            character = self.text[self.at]
            if found := _PLAIN.match(self.text, self.at):
                self.at = found.end()
                yield found[0]
            elif character == "'":
                yield self.single()
            elif character == '"':
                yield from self.double()
            elif character in "$`" or self.text[self.at : self.at + 2] in _NESTED:
                yield self.expansion()
            elif character == "\\" and self.text[self.at + 1 : self.at + 2] not in ("", "\n", "\r"):
                self.at += 2
                yield self.text[self.at - 1]
            else:
                return

    def single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.open_quote = self.at
            return ""
        text, self.at = self.text[self.at + 1 : end], end + 1
        return text

    def double(self) -> Iterator[str | None]:
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            if found := _DOUBLE.match(self.text, self.at):
                self.at = found.end()
                yield found[0]
            elif character == '"':
                self.at += 1
                yield ""
                return
            elif character == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                yield "" if escaped == "\n" else escaped if escaped in '"\\$`' else "\\" + escaped
            else:
                yield self.expansion()
        self.open_quote = start

    def expansion(self) -> str | None:
        """`$x`, `${x}`, `$(command)` or a command between backticks; a lone `$` is itself."""
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            self.at = len(self.text) if end < 0 else end + 1
            return None
        closing = _NESTED.get(self.text[self.at : self.at + 2])
        if closing is not None:
            self.skip_nested(self.text[self.at + 1], closing)
            return None
        found = _VARIABLE.match(self.text, self.at)
        self.at = found.end() if found else self.at + 1
        return None if found or self.text[self.at : self.at + 1] in ("'", '"') else "$"

    def skip_nested(self, opening: str, closing: str) -> None:
        depth = 0
        for found in re.compile(re.escape(opening) + "|" + re.escape(closing)).finditer(self.text, self.at):
            depth += 1 if found[0] == opening else -1
            if depth == 0:
                self.at = found.end()
                return
        self.at = len(self.text)
