"""Sees through the variables of a script: `LR=2e-5` at the top, `--learning_rate $LR` below.

Only where nobody can be wrong about it: the variable is given one literal, once in the whole script, outside of every
block, before it is used, and nothing that is read from elsewhere may change it. `${LR:-2e-5}` of a variable that is
given nothing is its default.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from trimtab.checks.read.words import Word
from trimtab.checks.record import record

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=")
_ANY = re.compile(r"(?<![\w$.{/-])([A-Za-z_]\w*)(?:\[[^]\n]*\])?(?:[-+*/%]?=|\+\+|--)")
_EXPANSION = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*|[0-9])(?::?-([^{}$`\"'\\]*))?\})")
_TAKEN = re.compile(r"[^\s$`\"'\\*?\[\]{}~]+")
"""What a shell leaves as it is, quoted or not."""
_BEFORE = frozenset(("", "export", "readonly"))
_OPENING = frozenset(("if", "for", "while", "until", "case", "select", "function", "{"))
_CLOSING = frozenset(("fi", "done", "esac", "}"))
_PASSED = frozenset(("then", "do", "else", "elif", "!", "time"))
_SETTING = frozenset(
    {
        "declare", "for", "getopts", "let", "local", "mapfile", "printf", "read", "readarray", "select", "typeset",
        "unset",
    }
)  # fmt: skip
_FROM_ELSEWHERE = frozenset(("source", ".", "eval"))

Commands = Sequence[Sequence[Word]]


@record
class _Value:
    text: str
    since: int
    """Offset from which it holds."""


def see_through(commands: Commands, text: str) -> tuple[tuple[Word, ...], ...]:
    """The commands with the text of each word that such variables decide."""
    if "$" not in text:
        return tuple(map(tuple, commands))
    values, touched = _values(commands, text), _touched(commands, text)
    return tuple(tuple(_seen(word, values, touched) for word in words) for words in commands)


def _values(commands: Commands, text: str) -> dict[str, _Value]:
    """Variables with the one literal that they are given."""
    found, unsure = dict[str, _Value](), _named_by_commands(commands)
    times = _times(text)
    late = max((words[0].start for words in commands if words[0].text in _FROM_ELSEWHERE), default=-1)
    for words in _outside_blocks(commands):
        start = words[0].start
        line = text[text.rfind("\n", 0, start) + 1 : start].strip()
        for word in words if line in _BEFORE or line.endswith(";") else ():
            pair = _ASSIGNED.match(word.raw)
            if pair is None:
                break
            name = pair[1]
            value = _literal(replace(word, raw=word.raw[pair.end() :]), word.text, pair.end())
            if value is not None and times.get(name) == 1 and name not in unsure and word.start > late:
                found[name] = _Value(value, word.end)
    return found


def _literal(value: Word, whole: str | None, length: int) -> str | None:
    if whole is not None:
        return whole[length:] if _TAKEN.fullmatch(whole[length:]) else None
    # `LR=${LR:-2e-5}` and `LR=${1:-2e-5}`: what the file gives.
    pair = _EXPANSION.fullmatch(value.raw.strip('"'))
    default = pair[3] if pair is not None else None
    return default if default and _TAKEN.fullmatch(default) else None


def _outside_blocks(commands: Commands) -> Iterator[Sequence[Word]]:
    """Commands that always run, without `export`; one that only sets variables for another is none of them."""
    depth = 0
    for words in commands:
        first = next((word.text for word in words if word.text not in _PASSED), None)
        if first in _CLOSING:
            depth -= 1
        elif first in _OPENING or words[-1].text == "{":
            depth += 1
        elif depth == 0:
            rest = words[1:] if words[0].text in _BEFORE else words
            if rest and all(_ASSIGNED.match(word.raw) for word in rest):
                yield rest


def _times(text: str) -> dict[str, int]:
    """How often the script has anything that looks like an assignment."""
    times: dict[str, int] = {}
    for found in _ANY.finditer(text):
        times[found[1]] = times.get(found[1], 0) + 1
    return times


def _named_by_commands(commands: Commands) -> frozenset[str]:
    """Variables that a command such as `read` may set."""
    return frozenset(
        word.text or ""
        for words in commands
        if any(word.text in _SETTING for word in words[:2])
        for word in words[1:]
    )


def _touched(commands: Commands, text: str) -> frozenset[str]:
    """Variables that something in the script sets, so that a default does not speak for them."""
    return frozenset(_times(text)) | _named_by_commands(commands)


def _seen(word: Word, values: dict[str, _Value], touched: frozenset[str]) -> Word:
    if word.text is not None or "$" not in word.raw or any(sign in word.raw for sign in "'`\\"):
        return word
    parts: list[str] = []
    at = 0
    for found in _EXPANSION.finditer(word.raw):
        name, known = found[1] or found[2], values.get(found[1] or found[2])
        value = known.text if known is not None and known.since <= word.start else None
        if value is None and name not in touched and found[3]:
            value = found[3] if _TAKEN.fullmatch(found[3]) else None
        if value is None:
            return word
        parts += [word.raw[at : found.start()], value]
        at = found.end()
    text = "".join((*parts, word.raw[at:])).replace('"', "")
    return word if "$" in text or not parts else replace(word, text=text)
