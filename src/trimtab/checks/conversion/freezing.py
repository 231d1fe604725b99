"""Weights that a script of transformers freezes, as patterns over their names."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from trimtab.checks.conversion.draft import Draft, scalar

PREFIX = "network."
"""Before the names of weights in a model that transformers computes."""
MOST_LAYERS = 1000


@dataclass
class Frozen:
    """What a script freezes."""

    patterns: list[str] = field(default_factory=list[str])
    """Names below the model, such as `bert.embeddings.*`."""
    unread: list[int] = field(default_factory=list[int])
    """Lines that freeze what cannot be read without running the script."""


def frozen_in(text: str) -> Frozen:
    """Reads `X.requires_grad_(False)`, and loops over `X.parameters()` that set `requires_grad = False`, where X is a
    part of a model, or of each layer of a slice such as `model.bert.encoder.layer[:8]`; nothing of a text that is no
    Python."""
    found = Frozen()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return found
    _read(tree.body, {}, found)
    return found


def write_freezing(draft: Draft) -> None:
    """Writes `freeze` for a model that transformers computes, and says what could not be read."""
    if draft.run.document.syntax != "python":
        return
    found = frozen_in(draft.run.document.text)
    if found.patterns:
        names = ", ".join(scalar(PREFIX + each) for each in found.patterns)
        draft.say(f"freeze: [{names}]", comment="requires_grad = False")
    _note_unread(draft, found)


def note_freezing(draft: Draft) -> None:
    """Says what is frozen there, where the names of weights depend on the family of the model."""
    if draft.run.document.syntax != "python":
        return
    found = frozen_in(draft.run.document.text)
    if found.patterns:
        draft.note(
            f"{', '.join(found.patterns)} are frozen there: name them in `freeze`, with `{PREFIX}` in front where "
            "transformers computes the model, or as `embedding.weight` and `decoder.blocks.[0-9].*` for Llama, Mistral "
            "and Qwen"
        )
    _note_unread(draft, found)


def _note_unread(draft: Draft, found: Frozen) -> None:
    if found.unread:
        lines = ", ".join(map(str, found.unread))
        draft.note(
            f"line {lines} freezes weights that only running the script would show: name them in `freeze`"
        )


def _read(body: list[ast.stmt], names: dict[str, list[str]], found: Frozen) -> None:
    """Statements in order; `names` are the paths of the parts that loops go over, by the loop's name."""
    for node in body:
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Attribute(value=part, attr="parameters"))
            ):
                if _sets_false(node.body, name):
                    found.patterns += _patterns(part, names, found, node.lineno)
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=name)]), iter=ast.Call(func=ast.Attribute(attr=attr))
            ):
                if attr == "named_parameters" and any(_sets_false([each], name) for each in _all(node)):
                    found.unread.append(node.lineno)
            case ast.For(target=ast.Name(id=name), iter=parts):
                _read(node.body, {**names, name: _paths(parts, names)}, found)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=part, attr="requires_grad_"), args=[ast.Constant(value=False)]
                )
            ):
                found.patterns += _patterns(part, names, found, node.lineno)
            case ast.FunctionDef() | ast.With():
                _read(node.body, names, found)
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                _read(node.body, names, found)
            case _:
                pass


def _sets_false(body: list[ast.stmt], name: str) -> bool:
    """Whether it sets `requires_grad` of that name to False, whatever else is the case."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and node.value.value is False
        and any(
            isinstance(each, ast.Attribute)
            and each.attr == "requires_grad"
            and isinstance(each.value, ast.Name)
            and each.value.id == name
            for each in node.targets
        )
        for node in body
    )


def _all(node: ast.stmt) -> Iterator[ast.stmt]:
    return (each for each in ast.walk(node) if isinstance(each, ast.stmt))


def _patterns(part: ast.expr, names: dict[str, list[str]], found: Frozen, line: int) -> list[str]:
    paths = _paths(part, names)
    if not paths:
        found.unread.append(line)
    return [f"{path}.*" if path else "*" for path in paths]


def _paths(part: ast.expr, names: dict[str, list[str]]) -> list[str]:
    """Paths below the model; none where they cannot be read."""
    match part:
        case ast.Name(id=name):
            return names.get(name, [""])
        case ast.Attribute(attr="base_model"):
            return []  # its name is that of the family
        case ast.Attribute(value=owner, attr=attr):
            return [f"{path}.{attr}" if path else attr for path in _paths(owner, names)]
        case ast.Subscript(value=owner, slice=ast.Constant(value=int(number))) if number >= 0:
            return [f"{path}.{number}" for path in _paths(owner, names)]
        case ast.Subscript(
            value=owner, slice=ast.Slice(lower=lower, upper=ast.Constant(value=int(stop)), step=None)
        ):
            begin = 0 if lower is None else lower.value if isinstance(lower, ast.Constant) else None
            if not isinstance(begin, int) or not 0 <= begin < stop <= MOST_LAYERS:
                return []
            numbers = [f"[{begin}-{stop - 1}]"] if begin + 1 < stop <= 10 else map(str, range(begin, stop))
            return [f"{path}.{number}" for number in numbers for path in _paths(owner, names)]
        case _:
            return []
