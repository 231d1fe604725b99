"""Defaults of the options that a script gives to argparse."""

import ast

from trimtab.checks.read.scopes import Scope, Survey


def option_defaults(survey: Survey) -> dict[str, tuple[ast.expr, Scope]]:
    """Defaults by the name under which argparse keeps an option; without options that are given two, and nothing where
    the script fills its namespace from elsewhere."""
    found: dict[str, list[tuple[ast.expr | None, Scope]]] = {}
    said: dict[str, tuple[ast.expr, Scope]] = {}
    for call, scope in survey.calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "add_argument" and (name := _option(call)):
            found.setdefault(name, []).append((_default_of(call), scope))
        elif call.func.attr == "set_defaults":
            said |= {each.arg: (each.value, scope) for each in call.keywords if each.arg}
        elif call.func.attr == "update" and _is_namespace(call.func.value):
            return {}
    agreed = {
        name: (first, scope)
        for name, [(first, scope), *others] in found.items()
        if first is not None and all(each is not None and _same(each, first) for each, _ in others)
    }
    return agreed | said


def _is_namespace(node: ast.expr) -> bool:
    """`args.__dict__` or `vars(args)`."""
    match node:
        case ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")):
            return True
        case _:
            return False


def _option(call: ast.Call) -> str:
    """The name under which argparse keeps an option; empty where it cannot be seen."""
    for keyword in call.keywords:
        if keyword.arg == "dest":
            return _text(keyword.value) or ""
    texts = [_text(each) for each in call.args]
    if not texts or None in texts:
        return ""
    chosen = next((text for text in texts if text and text.startswith("--")), texts[0] or "")
    return chosen.lstrip("-").replace("-", "_")


def _default_of(call: ast.Call) -> ast.expr | None:
    """The default of an option, text turned into the option's type."""
    written = {keyword.arg: keyword.value for keyword in call.keywords}
    default, kind = written.get("default"), written.get("type")
    text = _text(default)
    if default is None or text is None or kind is None:
        return default
    match kind:
        case ast.Name(id="str"):
            return default
        case ast.Name(id="float" | "int" as name):
            try:
                number = float(text) if name == "float" else int(text)
            except ValueError:
                return None
            return ast.copy_location(ast.Constant(number), default)
        case _:
            return None


def _text(node: ast.expr | None) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case _:
            return None


def _same(one: ast.expr, other: ast.expr) -> bool:
    return one is other or ast.dump(one) == ast.dump(other)
