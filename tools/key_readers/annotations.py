"""Type annotations and default values of a source, as the fields of a row."""

import ast
from collections.abc import Mapping

NAMES = {
    "int": "integer",
    "PositiveInt": "integer",
    "NonNegativeInt": "integer",
    "float": "number",
    "PositiveFloat": "number",
    "NonNegativeFloat": "number",
    "bool": "boolean",
    "str": "text",
    "Path": "text",
    "list": "list",
    "List": "list",
    "tuple": "list",
    "Tuple": "list",
    "set": "list",
    "Sequence": "list",
    "dict": "mapping",
    "Dict": "mapping",
    "Mapping": "mapping",
}
Enums = Mapping[str, Mapping[str, object]]
"""Classes of named values: name of the class to its members."""


class NoLiteralError(Exception):
    """A default that is computed."""


def enums_of(module: ast.Module) -> dict[str, dict[str, object]]:
    """Every class whose base is some Enum, with the literal values of its members."""
    found: dict[str, dict[str, object]] = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
            found[node.name] = {
                target.id: ast.literal_eval(line.value)
                for line in node.body
                if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
                for target in line.targets
                if isinstance(target, ast.Name)
            }
    return found


def types_of(annotation: ast.expr | None, enums: Enums) -> dict[str, object]:
    """`types`, and `choices` where the annotation names them all."""
    types: list[str] = []
    choices: list[object] = []
    is_open = False
    for part in _parts(annotation):
        name = ast.unparse(part.value if isinstance(part, ast.Subscript) else part).rpartition(".")[2]
        if name == "None":
            continue
        if name == "Literal" and isinstance(part, ast.Subscript):
            values = [ast.literal_eval(value) for value in _elements(part.slice)]
            choices += [value for value in values if value is not None]
            types += [_type_of(value) for value in values if value is not None]
        elif name in enums:
            choices += enums[name].values()
            types += [_type_of(value) for value in enums[name].values()]
        else:
            is_open = True
            types.append(NAMES.get(name, "any"))
    row: dict[str, object] = {"types": list(dict.fromkeys(types)) or ["any"]}
    only_choices = choices and not is_open
    return {**row, "choices": list(dict.fromkeys(choices))} if only_choices else row


def literal(node: ast.expr, enums: Enums) -> object:
    """The plain value of a default; raises NoLiteralError for what is computed."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in enums:
        return enums[node.value.id][node.attr]
    if isinstance(node, ast.Lambda):
        return literal(node.body, enums)
    if isinstance(node, ast.Name) and node.id in ("list", "dict"):
        return [] if node.id == "list" else {}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pp_int":
        return int(literal(node.args[0], enums))  # type: ignore[call-overload]
    try:
        value = ast.literal_eval(node)
    except ValueError:
        raise NoLiteralError(ast.unparse(node)) from None
    return list(value) if isinstance(value, tuple | set) else value


def _parts(annotation: ast.expr | None) -> list[ast.expr]:
    match annotation:
        case None:
            return []
        case ast.Constant(value=str(text)):
            return _parts(ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_parts(left), *_parts(right)]
        case ast.Subscript(value=ast.Name(id="Optional" | "Annotated" as name), slice=inner):
            first = _elements(inner)[0] if name == "Annotated" else inner
            return _parts(first)
        case ast.Subscript(value=ast.Name(id="Union"), slice=inner):
            return [part for element in _elements(inner) for part in _parts(element)]
        case _:
            return [annotation]


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _type_of(value: object) -> str:
    return NAMES[type(value).__name__]
