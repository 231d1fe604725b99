"""Ignore files: the patterns of `.gitignore` that people use."""

import os
import re
from functools import cache
from pathlib import Path

from trimtab.checks.read.limits import MAX_BYTES
from trimtab.checks.record import record

NAMES = (".gitignore", ".ignore")
_END = re.compile("")
"""Behind the last part: nothing more fits."""


@record
class _Pattern:
    parts: tuple[re.Pattern[str] | None, ...]
    """One for each folder and the name; None is `**`, any number of folders."""
    folders_only: bool
    negated: bool

    def fits(self, inside: tuple[str, ...]) -> bool:
        """Whether the whole path matches; all ways are followed side by side, so that time stays linear."""
        reached = self._behind_stars({0})
        for part in inside:
            after: set[int] = set()
            for at in reached:
                pattern = self.parts[at] if at < len(self.parts) else _END
                if pattern is None:
                    after.add(at)
                elif pattern is not _END and pattern.fullmatch(part):
                    after.add(at + 1)
            reached = self._behind_stars(after)
        return len(self.parts) in reached

    def _behind_stars(self, reached: set[int]) -> set[int]:
        for at in sorted(reached):
            while at < len(self.parts) and self.parts[at] is None:
                at += 1
                reached.add(at)
        return reached


@record
class Ignored:
    """The ignore files of a folder and of those above it, outermost first."""

    files: tuple[tuple[Path, tuple[_Pattern, ...]], ...] = ()

    @classmethod
    def above(cls, folder: Path) -> "Ignored":
        """Those between a repository's root and the folder, which is left out; outside a repository none."""
        whole = folder.absolute()
        if _is_root(whole):
            return cls()
        parents: list[Path] = []
        for parent in whole.parents:
            parents.append(parent)
            if _is_root(parent):
                found = cls()
                for each in reversed(parents):
                    found = found.within(each)
                return found
        return cls()

    def within(self, folder: Path) -> "Ignored":
        """With the ignore files of one folder more."""
        whole = folder.absolute()
        patterns = tuple(pattern for name in NAMES for pattern in _read(whole / name))
        return Ignored((*self.files, (whole, patterns))) if patterns else self

    def matches(self, path: Path, *, is_folder: bool) -> bool:
        """Whether the last pattern that fits leaves it out."""
        result = False
        whole = path.absolute()
        for folder, patterns in self.files:
            inside = whole.relative_to(folder).parts
            for pattern in patterns:
                if (is_folder or not pattern.folders_only) and pattern.fits(inside):
                    result = not pattern.negated
        return result


def _is_root(folder: Path) -> bool:
    """Whether a repository begins there; not where nobody may look into the folder."""
    return os.path.lexists(folder / ".git")


def _read(file: Path) -> tuple[_Pattern, ...]:
    try:
        if not file.is_file() or file.stat().st_size > MAX_BYTES:
            return ()
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(pattern for line in text.splitlines() if (pattern := _pattern(line)) is not None)


@cache
def _pattern(line: str) -> _Pattern | None:
    text = re.sub(r"(?<!\\)\s+$", "", line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    parts = text.removeprefix("/").split("/")
    if "/" not in text:
        parts = ["**", *parts]
    if parts[-1] == "**":
        parts.append("*")  # `a/**` is all in a, not a itself
    try:
        return _Pattern(tuple(None if part == "**" else _name(part) for part in parts), folders_only, negated)
    except re.error:  # such as a range from z to a; git lets it fit nothing, too
        return None


def _name(text: str) -> re.Pattern[str]:
    """One name with stars; each piece behind a star is found where it first stands, and never looked for again."""
    stars = re.split(r"\*+", text)
    first, *rest = [_piece(each) for each in stars]
    middle = "".join(f"(?>.*?{each})" for each in rest[:-1])
    return re.compile(first + middle + (f".*{rest[-1]}" if rest else ""), re.DOTALL)


def _piece(text: str) -> str:
    parts: list[str] = []
    at = 0
    for found in re.finditer(r"\?|\[!?\]?[^\]]*\]|\\.", text):
        parts += [re.escape(text[at : found.start()]), _token(found[0])]
        at = found.end()
    if "[" in text[at:]:
        raise re.error("a set that is not closed")
    return "".join((*parts, re.escape(text[at:])))


def _token(token: str) -> str:
    if token == "?":
        return "."
    if token.startswith("\\"):
        return re.escape(token[1])
    inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
