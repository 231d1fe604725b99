"""Sockeye: the options of `sockeye-train` and `sockeye-prepare-data`."""

import ast
from collections.abc import Iterator
from typing import Any

from key_readers.history import with_history
from key_readers.tree import Row, Rows, Tree

ARGUMENTS, CONSTANTS = "sockeye/arguments.py", "sockeye/constants.py"
SCALARS = {"int": "integer", "float": "number", "str": "text"}
Names = dict[str, object]


def read(trees: list[Tree]) -> dict[str, Any]:
    """`sockeye` for training, `sockeye_prepare` for preparing data; keys as the command line spells them."""
    version = trees[-1].version
    head = {"tool": "sockeye", "library": "sockeye", "version": version, "abbreviations": True}
    functions = {"sockeye": "add_train_cli_args", "sockeye_prepare": "add_prepare_data_cli_args"}
    return {
        name: {
            **head,
            "source": f"Sockeye {version}: {ARGUMENTS}, {function}",
            "unknown_keys": "refused",
            "keys": with_history([(tree, _rows(tree, function)) for tree in trees]),
        }
        for name, function in functions.items()
    }


def _rows(tree: Tree, function: str) -> Rows:
    names = _constants(tree.module(CONSTANTS))
    rows = dict(_options(tree.module(ARGUMENTS), function, names))
    rows["config"] = {"types": ["text"]}  # what its own parser adds
    return rows


def _options(module: ast.Module, function: str, names: Names) -> Iterator[tuple[str, Row]]:
    found = next(
        (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == function), None
    )
    for call in (node for node in ast.walk(found) if isinstance(node, ast.Call)) if found else ():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            spelled = [str(_value(argument, names)) for argument in call.args]
            long = next((name for name in spelled if name.startswith("--")), "")
            if long:
                yield long.removeprefix("--"), _row({word.arg: word.value for word in call.keywords}, names)
        elif isinstance(call.func, ast.Name) and call.func.id.startswith("add_"):
            yield from _options(module, call.func.id, names)


def _row(words: dict[str | None, ast.expr], names: Names) -> Row:
    if "action" in words and ast.unparse(words["action"]) == "'store_true'":
        return {"types": ["boolean"], "default": False}
    row = _types(words.get("type"), names)
    if "nargs" in words:
        row["types"] = ["list", *(name for name in row["types"] if name != "list")]  # type: ignore[union-attr]
    if "choices" in words and (choices := _value(words["choices"], names)):
        row["choices"] = choices
    if "default" in words:
        default = _value(words["default"], names)
        if default is not None or ast.unparse(words["default"]) == "None":
            row["default"] = default
    return row


def _types(node: ast.expr | None, names: Names) -> Row:
    """By the function that reads the text: `int_greater_or_equal(1)`, `multiple_values(2, data_type=float)`."""
    if isinstance(node, ast.Name):
        return {"types": [SCALARS.get(node.id, "any")]}
    if not isinstance(node, ast.Call):
        return {"types": ["text"]}
    words = {word.arg: word.value for word in node.keywords}
    match ast.unparse(node.func):
        case "int_greater_or_equal" | "float_greater_or_equal" as name:
            kind = "integer" if name.startswith("int") else "number"
            return {"types": [kind], "minimum": _value(node.args[0], names)}
        case "bool_str":
            return {"types": ["boolean"]}
        case "multiple_values":
            kind = SCALARS[ast.unparse(words["data_type"])] if "data_type" in words else "integer"
            # `6:6` for encoder and decoder is text.
            return {"types": list(dict.fromkeys((kind, "list", "text")))}
        case "simple_dict":
            return {"types": ["mapping", "text"]}
        case _:
            return {"types": ["text"]}


def _constants(module: ast.Module) -> Names:
    names: Names = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = _value(node.value, names)
    return names


def _value(node: ast.expr, names: Names) -> Any:
    """A literal, a constant by its name, or a list of them; None for what is computed."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="C"), attr=name):
            return names.get(name)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element, names) for element in elements]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _value(left, names), _value(right, names)
            return one + other if isinstance(one, str) and isinstance(other, str) else None
        case _:
            return None
