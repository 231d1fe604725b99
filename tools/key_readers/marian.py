"""Marian: the options of `marian` (training) and `marian-decoder`, from the calls that add them in its C++ source."""

import re
from collections.abc import Iterator
from typing import Any

from key_readers.history import with_history
from key_readers.tree import Row, Rows, Tree

FILE = "src/common/config_parser.cpp"
TRAINING = ("General", "Model", "Training", "Validation")
TRANSLATION = ("General", "Model", "Translation")
SCALARS = {
    "bool": "boolean", "int": "integer", "size_t": "integer", "float": "number", "double": "number",
    "std::string": "text",
}  # fmt: skip
ZERO: dict[str, object] = {"boolean": False, "integer": 0, "number": 0, "text": ""}
_ADD = re.compile(r"cli\.add<(.+?)>\(\s*(?=\")")
_MODE = re.compile(
    r"(?:else\s+)?if\s*\((mode_ == cli::mode::\w+(?:\s*\|\|\s*mode_ == cli::mode::\w+)*)\)\s*\{"
)
_SHORTCUT = re.compile(
    r"(?:int|size_t|std::string)\s+(default\w+)\s*=\s*\(mode_ == cli::mode::(\w+)\)\s*\?\s*(.+?)\s*:\s*(.+?);"
)
_SUBOPTIONS = re.compile(r"addSuboptions(\w+)\(cli\);")


def read(trees: list[Tree]) -> dict[str, Any]:
    """`marian` for training, `marian_decoder` for translation."""
    version = trees[-1].version
    head = {"tool": "marian", "library": "marian", "version": version, "unknown_keys": "refused"}
    modes = {"marian": ("training", TRAINING), "marian_decoder": ("translation", TRANSLATION)}
    return {
        name: {
            **head,
            "source": f"Marian {version}: {FILE}, options of {mode}",
            "keys": with_history([(tree, _rows(tree, mode, groups)) for tree in trees]),
        }
        for name, (mode, groups) in modes.items()
    }


def _rows(tree: Tree, mode: str, groups: tuple[str, ...]) -> Rows:
    source = tree.text(FILE) or ""
    rows: Rows = {}
    for group in groups:
        for body in _bodies(source, f"addOptions{group}", mode):
            rows |= dict(_options(body, mode))
    return rows


def _bodies(source: str, function: str, mode: str) -> Iterator[str]:
    """What a function does in one mode, then what the functions for parts of it do."""
    start = source.find(f"void ConfigParser::{function}(")
    if start < 0:
        return
    opening = source.index("{", start)
    body = _in_mode(source[opening + 1 : _closing(source, opening)], mode)
    yield body
    for part in _SUBOPTIONS.findall(body):
        yield from _bodies(source, f"addSuboptions{part}", mode)


def _in_mode(body: str, mode: str) -> str:
    """The body without the branches that another mode takes."""
    while found := _MODE.search(body):
        opening = found.end() - 1
        end = _closing(body, opening)
        taken, rest = body[opening + 1 : end], end + 1
        other = ""
        if orelse := re.match(r"\s*else\s*\{", body[rest:]):
            begin = rest + orelse.end() - 1
            rest = _closing(body, begin) + 1
            other = body[begin + 1 : rest - 1]
        is_taken = f"cli::mode::{mode}" in found[1]
        body = body[: found.start()] + (taken if is_taken else other) + body[rest:]
    return body


def _closing(text: str, opening: int) -> int:
    """The index of the bracket that closes the one at `opening`; brackets in texts do not count."""
    depth, at = 0, opening
    while at < len(text):
        if text[at] == '"':
            at = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, at).end()  # type: ignore[union-attr]
            continue
        depth += (text[at] in "({[") - (text[at] in ")}]")
        if depth == 0:
            return at
        at += 1
    raise ValueError("a bracket is not closed")


def _options(body: str, mode: str) -> Iterator[tuple[str, Row]]:
    body = re.sub(r"//[^\n]*|/\*.*?\*/", "", body, flags=re.DOTALL)
    named = {
        name: (one if shortcut == mode else other) for name, shortcut, one, other in _SHORTCUT.findall(body)
    }
    for found in _ADD.finditer(body):
        opening = body.rindex("(", 0, found.end())
        end = _closing(body, opening)
        arguments = _split(body[opening + 1 : end])
        name = arguments[0].strip().strip('"').split(",")[0].removeprefix("--")
        default = named.get(arguments[2].strip(), arguments[2].strip()) if len(arguments) > 2 else None
        has_implicit = body[end + 1 :].lstrip().startswith("->implicit_val")
        yield name, _row(found[1], default, has_implicit)


def _split(arguments: str) -> list[str]:
    parts, at, begin = list[str](), 0, 0
    while at < len(arguments):
        if arguments[at] in '({["':
            is_text = arguments[at] == '"'
            pattern = re.compile(r'"(?:[^"\\]|\\.)*"')
            at = pattern.match(arguments, at).end() if is_text else _closing(arguments, at) + 1  # type: ignore[union-attr]
            continue
        if arguments[at] == ",":
            parts.append(arguments[begin:at])
            begin = at + 1
        at += 1
    return [*parts, arguments[begin:]]


def _row(kind: str, default: str | None, has_implicit: bool) -> Row:
    vector = re.fullmatch(r"std::vector<(.+)>", kind)
    scalar = SCALARS.get((vector[1] if vector else kind), "any")
    types = (["list", scalar] if scalar != "any" else ["any"]) if vector else [scalar]
    row: Row = {"types": [*types, "boolean"] if has_implicit and "boolean" not in types else types}
    if default is None:
        row["default"] = [] if vector else ZERO.get(scalar, "")
    else:
        value = _value(default)
        row["default"] = [value] if vector and not isinstance(value, list) else value
    return row


def _value(text: str) -> Any:
    """A literal of C++: 1.f, "0e", {10, 1}."""
    text = text.strip()
    if text.startswith("{"):
        return [_value(part) for part in _split(text[1:-1]) if part.strip()]
    if text.startswith('"'):
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    number = float(re.sub(r"(?<=[\d.])f$", "", text))
    return int(number) if number.is_integer() and "e" not in text else number
