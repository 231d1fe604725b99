"""Which name is bound to what in a script, and what is called where; found in one walk, without recursion."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

_MUTATING: Final = frozenset(
    (
        "append",
        "clear",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    )
)
_HARMLESS: Final = frozenset(
    ("print", "len", "dict", "list", "tuple", "set", "sorted", "str", "repr", "pprint")
)
_TEXTS: Final = (str, bytes)
_EMPTY: Final = frozenset(("ctx", "op", "ops", "kind", "type_comment"))
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(slots=True, eq=False)
class Scope:
    """A module, a function, a class or a comprehension."""

    outer: "Scope | None" = None
    is_class: bool = False
    bindings: dict[str, list[ast.expr | None]] = field(default_factory=dict[str, list[ast.expr | None]])
    """Every binding of a name in this scope: the expression of a plain assignment, else None."""
    globals: set[str] = field(default_factory=set[str])
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    """The function whose names these are."""


@dataclass(slots=True)
class Survey:
    """What one walk over a script finds."""

    module: Scope = field(default_factory=Scope)
    calls: list[tuple[ast.Call, Scope]] = field(default_factory=list[tuple[ast.Call, Scope]])
    """In the order of the file."""
    assigned_to: dict[ast.Call, str] = field(default_factory=dict[ast.Call, str])
    """The variable that a call's result is given to."""
    origins: dict[str, str] = field(default_factory=dict[str, str])
    """Names that imports bring, to what they are called where they come from: `np` to `numpy`."""
    sources: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Names that `from ... import` brings, as they are called there, to top-level packages; empty if relative."""
    imports: set[str] = field(default_factory=set[str])
    """Top-level packages."""
    mutated: set[str] = field(default_factory=set[str])
    """Names of lists and mappings that may be changed after they are written."""
    attributes: dict[str, list[ast.Attribute]] = field(default_factory=dict[str, list[ast.Attribute]])
    """Attributes that are set on a variable: `args.bf16 = True`."""
    inner: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Attributes that are set on an attribute: `self.args.lr = 1` as `("args", "lr")`."""
    unpacked: dict[str, list[tuple[ast.Call, int]]] = field(
        default_factory=dict[str, list[tuple[ast.Call, int]]]
    )
    """Names that get one of several results of a call, or are attributes of `self`: the call, and which result."""
    classes: dict[str, list[ast.ClassDef]] = field(default_factory=dict[str, list[ast.ClassDef]])
    functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = field(
        default_factory=dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]
    )
    texts: list[ast.expr] = field(default_factory=list[ast.expr])
    """Texts and bytes that are written out."""
    opened: set[str] = field(default_factory=set[str])
    """Variables whose attributes are set by `setattr`."""


def survey(tree: ast.Module) -> Survey:
    """Walks a script once, in its order."""
    found = Survey()
    waiting: list[tuple[ast.AST, Scope]] = [(tree, found.module)]
    take, put = waiting.pop, waiting.append
    while waiting:
        node, scope = take()
        note = _NOTES.get(type(node))
        if note is not None:
            note(found, node, scope)
        if type(node) in _WITH_SCOPES:
            waiting.extend(reversed(_children(node, scope)))
            continue
        for part in reversed(parts(node)):
            kind = type(part)
            # A name that is read says nothing, nor does a number.
            if kind is ast.Name:
                if type(part.ctx) is ast.Load:  # type: ignore[attr-defined]
                    continue
            elif kind is ast.Constant and type(part.value) not in _TEXTS:  # type: ignore[attr-defined]
                continue
            put((part, scope))
    return found


def once(scope: Scope, name: str) -> tuple[ast.expr, Scope] | None:
    """The one expression that a name stands for where it is read, and the scope of that; None if nobody can say."""
    looked_in: Scope | None = scope
    while looked_in is not None:
        if name in looked_in.bindings and not (looked_in.is_class and looked_in is not scope):
            bindings = looked_in.bindings[name]
            return (bindings[0], looked_in) if len(bindings) == 1 and bindings[0] is not None else None
        looked_in = looked_in.outer
    return None


def parts(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one, without operators and contexts, which hold nothing."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _EMPTY)
    found: list[ast.AST] = []
    for name in names:
        value: Any = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in cast("list[Any]", value) if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {ast.Name: (), ast.Constant: (), ast.alias: ()}
"""By type of node, the fields that may hold other nodes."""


def _children(node: ast.AST, scope: Scope) -> list[tuple[ast.AST, Scope]]:
    if isinstance(node, _FUNCTIONS):
        inner = Scope(outer=scope, function=None if isinstance(node, ast.Lambda) else node)
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = {id(part) for part in body}
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                _bind(inner, argument.arg, None)
        return [(part, inner if id(part) in inside else scope) for part in parts(node)]
    if isinstance(node, ast.ClassDef):
        inner = Scope(outer=scope, is_class=True)
        inside = {id(part) for part in node.body}
        return [(part, inner if id(part) in inside else scope) for part in parts(node)]
    if isinstance(node, _COMPREHENSIONS):
        inner = Scope(outer=scope)
        return [(part, inner) for part in parts(node)]
    match node:
        case ast.Assign(targets=[ast.Name()], value=value):
            return [(value, scope)]  # the name is bound already, to this value
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            return [(node.annotation, scope), (value, scope)]
        case ast.Assign(targets=[ast.Tuple() as target], value=ast.Tuple() as value) if _is_pairwise(
            target, value
        ):
            return [(each, scope) for each in value.elts]
        case _:
            pass
    return [(part, scope) for part in parts(node)]


def _text(found: Survey, node: Any, scope: Scope) -> None:
    if node.__class__ is ast.JoinedStr or node.value.__class__ in (str, bytes):
        found.texts.append(node)


def _stored(found: Survey, node: Any, scope: Scope) -> None:
    if not isinstance(node.ctx, ast.Load):
        _bind(scope, node.id, None)


def _assigned(found: Survey, node: ast.Assign, scope: Scope) -> None:
    if len(node.targets) != 1:
        return
    match node.targets[0], node.value:
        case ast.Name(id=name), value:
            _assign(found, scope, name, value)
            match value:
                case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int() as index)):
                    found.unpacked.setdefault(name, []).append((call, index))
                case _:
                    pass
        case ast.Tuple(elts=targets) as target, ast.Tuple(elts=values) as value if _is_pairwise(
            target, value
        ):
            for each, given in zip(targets, values, strict=True):
                if isinstance(each, ast.Name):
                    _assign(found, scope, each.id, given)
        case ast.Tuple(elts=targets), ast.Call() as call:
            for index, target in enumerate(targets):
                if isinstance(target, ast.Name):
                    found.unpacked.setdefault(target.id, []).append((call, index))
        case ast.Attribute(value=ast.Name(id="self"), attr=name), ast.Call() as call:
            found.unpacked.setdefault(name, []).append((call, 0))
        case _:
            pass


def _is_pairwise(target: ast.Tuple, value: ast.Tuple) -> bool:
    """Whether `a, b = 1, 2` gives each name one of the values."""
    is_whole = not any(isinstance(each, ast.Starred) for each in value.elts)
    return (
        is_whole
        and len(target.elts) == len(value.elts)
        and all(isinstance(each, ast.Name) for each in target.elts)
    )


def _annotated(found: Survey, node: ast.AnnAssign, scope: Scope) -> None:
    if isinstance(node.target, ast.Name) and node.value is not None:
        _assign(found, scope, node.target.id, node.value)


def _named(found: Survey, node: Any, scope: Scope) -> None:
    if node.name is not None:
        _bind(scope, node.name, None)


def _function(found: Survey, node: Any, scope: Scope) -> None:
    _bind(scope, node.name, None)
    found.functions.setdefault(node.name, []).append(node)


def _class(found: Survey, node: ast.ClassDef, scope: Scope) -> None:
    _bind(scope, node.name, None)
    found.classes.setdefault(node.name, []).append(node)


def _rest(found: Survey, node: ast.MatchMapping, scope: Scope) -> None:
    if node.rest is not None:
        _bind(scope, node.rest, None)


def _declared(found: Survey, node: Any, scope: Scope) -> None:
    scope.globals.update(node.names)


def _change(found: Survey, node: Any, scope: Scope) -> None:
    if isinstance(node.ctx, ast.Load):
        return
    if isinstance(node.value, ast.Attribute) and isinstance(node, ast.Attribute):
        found.inner.add((node.value.attr, node.attr))
    if not isinstance(node.value, ast.Name):
        return
    if isinstance(node, ast.Subscript):
        found.mutated.add(node.value.id)
    else:
        found.attributes.setdefault(node.value.id, []).append(node)


def _assign(found: Survey, scope: Scope, name: str, value: ast.expr) -> None:
    _bind(scope, name, value)
    if isinstance(value, ast.Call):
        found.assigned_to[value] = name


def _bind(scope: Scope, name: str, value: ast.expr | None) -> None:
    bound_in = scope
    while name in bound_in.globals and bound_in.outer is not None:
        bound_in = bound_in.outer
    bound_in.bindings.setdefault(name, []).append(None if bound_in is not scope else value)


def _import(found: Survey, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        _bind(scope, name, None)
        if isinstance(node, ast.Import):
            found.imports.add(alias.name.partition(".")[0])
            found.origins[name] = alias.name if alias.asname else name
        else:
            found.origins[name] = alias.name
            package = "" if node.level or not node.module else node.module.partition(".")[0]
            found.sources.setdefault(alias.name, set()).add(package)
            if package:
                found.imports.add(package)


def _call(found: Survey, node: ast.Call, scope: Scope) -> None:
    found.calls.append((node, scope))
    match node.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if method in _MUTATING:
            found.mutated.add(name)
        case _:
            pass
    function = node.func.id if isinstance(node.func, ast.Name) else ""
    for index, argument in enumerate(node.args):
        if isinstance(argument, ast.Name):
            if function == "setattr" and index == 0:
                found.opened.add(argument.id)
            if function not in _HARMLESS:
                found.mutated.add(argument.id)


_NOTES: Final[dict[type[ast.AST], Callable[[Survey, Any, Scope], None]]] = {
    ast.Constant: _text,
    ast.JoinedStr: _text,
    ast.Name: _stored,
    ast.Call: _call,
    ast.Attribute: _change,
    ast.Subscript: _change,
    ast.Assign: _assigned,
    ast.AnnAssign: _annotated,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.ExceptHandler: _named,
    ast.MatchAs: _named,
    ast.MatchStar: _named,
    ast.MatchMapping: _rest,
    ast.Global: _declared,
    ast.Nonlocal: _declared,
}
"""What is noted of a node, by its type."""
_WITH_SCOPES: Final = frozenset(
    {
        ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
        ast.GeneratorExp, ast.Assign, ast.AnnAssign,
    }
)  # fmt: skip
"""Nodes whose parts are not all of the same scope, or not all to be walked."""
