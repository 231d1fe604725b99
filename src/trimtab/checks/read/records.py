"""What attributes of a script's configuration objects hold where no command line says otherwise: defaults of argparse,
fields of dataclasses, attributes of configuration classes, and arguments of a function that is called once."""

import ast
from dataclasses import replace
from typing import Final

from trimtab.checks.read.options import option_defaults
from trimtab.checks.read.scopes import Scope, Survey
from trimtab.checks.record import record

_NAMESPACES: Final = frozenset(
    {"Namespace", "SimpleNamespace", "EasyDict", "edict", "AttrDict", "Munch", "DotMap", "dotdict"}
)
"""Classes that keep what they are called with."""
_PARSES: Final = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
_PARSES_CLASSES: Final = frozenset(
    {
        "parse_args_into_dataclasses",
        "parse_args_and_config",
        "parse_json_file",
        "parse_yaml_file",
        "parse_dict",
    }
)
_PARSERS_OF_CLASSES: Final = frozenset({"HfArgumentParser", "TrlParser"})
_RUNS: Final = frozenset({"Fire", "run"})
"""Functions that give a function the options of the command line: `fire.Fire(train)`, `typer.run(main)`."""
DEEPEST: Final = 8
"""Classes inside one another, and above one another."""


@record
class Held:
    """An expression that an attribute or a parameter stands for."""

    node: ast.expr
    scope: Scope
    is_default: bool = False
    """Whether a command line may say something else."""


Fields = dict[str, Held]


@record
class Parsed:
    """A class whose fields a parser of dataclasses fills."""

    name: str
    """As the script calls it."""
    of: ast.expr | None
    """The class of a library that it is, or inherits from; None if there is none."""
    fields: Fields
    """Those that the script writes itself."""
    node: ast.expr
    """Where the parser is given the class."""


class Records:
    """The configuration objects of one script; looked up when an attribute is asked for."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._named: dict[str, Fields | None] | None = None
        self._options: Fields | None = None
        self._run: set[str] | None = None
        self._parsing: dict[str, bool] = {}
        self._calls: dict[str, list[tuple[ast.Call, Scope]]] | None = None

    def attribute(self, node: ast.Attribute, scope: Scope) -> Held | None:
        """What an attribute of a known object holds; None where nobody can say."""
        fields = self._fields_of(node.value, scope, DEEPEST)
        name = last_name(node.value)
        if fields is None or node.attr not in fields or self._is_changed(name, node.attr):
            return None
        return fields[node.attr]

    def parameter(self, name: str, scope: Scope) -> Held | None:
        """What a parameter stands for: the argument of the one call of its function, or its default where a command
        line fills it."""
        where: Scope | None = scope
        while where is not None and name not in where.bindings:
            where = where.outer
        function = where.function if where is not None else None
        if where is None or function is None or where.bindings[name] != [None]:
            return None
        if len(self.survey.functions.get(function.name, ())) != 1:
            return None
        calls = self._calls_of(function.name)
        if len(calls) == 1:
            return _given(function, name, *calls[0])
        if not calls and self._is_run(function.name):
            default = _default(function, name)
            return Held(default, self.survey.module, is_default=True) if default is not None else None
        return None

    def parsed_classes(self) -> list[Parsed]:
        """Classes that parsers of dataclasses are given, in the order of the file."""
        found: list[Parsed] = []
        for call, _ in self.survey.calls:
            if last_name(call.func) in _PARSERS_OF_CLASSES:
                for node in _classes_given(call):
                    known = self._class(last_name(node)) if isinstance(node, ast.Name) else None
                    own = self._fields_of_class(known, DEEPEST) if known is not None else {}
                    found.append(
                        Parsed(last_name(node), self._library_class(node, DEEPEST), _as_defaults(own), node)
                    )
        return found

    def _library_class(self, node: ast.expr, depth: int) -> ast.expr | None:
        known = self._class(last_name(node)) if isinstance(node, ast.Name) else None
        if known is None or depth == 0:
            return node if last_name(node) else None
        above = [found for base in known.bases if (found := self._library_class(base, depth - 1)) is not None]
        return above[0] if above else None

    def _fields_of(self, node: ast.expr, scope: Scope, depth: int) -> Fields | None:
        if depth == 0:
            return None
        match node:
            case ast.Name(id=name):
                return self._by_name(name, scope)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._all_named().get(name)
            case ast.Attribute(value=inner, attr=name):
                outer = self._fields_of(inner, scope, depth - 1)
                held = outer.get(name) if outer is not None else None
                return self._made_by(held.node, depth - 1) if held is not None else None
            case _:
                return None

    def _by_name(self, name: str, scope: Scope) -> Fields | None:
        where: Scope | None = scope
        while where is not None and name not in where.bindings:
            where = where.outer
        if where is None:
            return None
        if (known := self._class(name)) is not None and where.bindings[name] == [None]:
            return self._fields_of_class(known, DEEPEST)
        bindings = where.bindings[name]
        known_bindings = self.survey.unpacked.get(name, ())
        if len(bindings) > 1 and not (
            all(each is None for each in bindings) and len(bindings) <= len(known_bindings)
        ):
            return None
        return self._all_named().get(name)

    def _all_named(self) -> dict[str, Fields | None]:
        """By the name of a variable the object that it holds wherever it is bound to a known one."""
        if self._named is None:
            self._named = {}
            for call, name in self.survey.assigned_to.items():
                self._put(name, self._made_by(call, DEEPEST))
            for name, makings in self.survey.unpacked.items():
                for call, index in makings:
                    self._put(name, self._made_by(call, DEEPEST, index=index))
        return self._named

    def _put(self, name: str, fields: Fields | None) -> None:
        if fields is None or self._named is None:
            return
        self._named[name] = fields if self._named.get(name, fields) == fields else None

    def _made_by(self, node: ast.expr, depth: int, *, index: int = 0) -> Fields | None:
        """The fields of what a call makes; `index` of the object where it makes several."""
        if not isinstance(node, ast.Call) or depth == 0:
            return None
        name = last_name(node.func)
        if name in _PARSES:
            inner = node.func.value if isinstance(node.func, ast.Attribute) else None
            of_class = self._made_by(inner, depth - 1) if isinstance(inner, ast.Call) else None
            return _as_defaults(of_class) if of_class else (self._all_options() if index == 0 else None)
        if name in _PARSES_CLASSES:
            return self._filled(node, index)
        if name == "cli" and node.args and (known := self._class(last_name(node.args[0]))) is not None:
            return _as_defaults(self._fields_of_class(known, depth))
        if name in _NAMESPACES:
            return self._keywords(node)
        if isinstance(node.func, ast.Name) and (known := self._class(name)) is not None:
            given = self._keywords(node)
            return None if given is None or node.args else self._fields_of_class(known, depth) | given
        return self._all_options() if isinstance(node.func, ast.Name) and self._parses(name) else None

    def _keywords(self, node: ast.Call) -> Fields | None:
        if any(keyword.arg is None for keyword in node.keywords):
            return None
        return {
            keyword.arg: Held(keyword.value, self.survey.module)
            for keyword in node.keywords
            if keyword.arg is not None and is_free(keyword.value)
        }

    def _filled(self, node: ast.Call, index: int) -> Fields | None:
        """The class at an index that the parser of a call was given."""
        parser = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(parser, ast.Name):
            made = [call for call, name in self.survey.assigned_to.items() if name == parser.id]
            makers = [call for call in made if last_name(call.func) in _PARSERS_OF_CLASSES]
            parser = makers[0] if len(makers) == 1 == len(made) else None
        if not isinstance(parser, ast.Call):
            return None
        given = _classes_given(parser)
        known = self._class(last_name(given[index])) if index < len(given) else None
        return _as_defaults(self._fields_of_class(known, DEEPEST)) if known is not None else None

    def _class(self, name: str) -> ast.ClassDef | None:
        found = self.survey.classes.get(name, ())
        return found[0] if len(found) == 1 else None

    def _fields_of_class(self, node: ast.ClassDef, depth: int) -> Fields:
        found: Fields = {}
        for base in node.bases if depth else ():
            if (above := self._class(last_name(base))) is not None and above is not node:
                found |= self._fields_of_class(above, depth - 1)
        for part in node.body:
            match part:
                case (
                    ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                    | ast.Assign(targets=[ast.Name(id=name)], value=value)
                ):
                    written = _field(value)
                    found.pop(name, None)
                    if written is not None:
                        found[name] = Held(written, self.survey.module)
                case ast.FunctionDef(name="__init__", body=body):
                    found |= _set_in(body, self.survey.module)
                case _:
                    pass
        return found

    def _all_options(self) -> Fields:
        if self._options is None:
            found = option_defaults(self.survey)
            self._options = {
                name: Held(node, scope, is_default=True) for name, (node, scope) in found.items()
            }
        return self._options

    def _parses(self, name: str) -> bool:
        """Whether a function of the script gives back what a parser made."""
        if name not in self._parsing:
            found = self.survey.functions.get(name, ())
            self._parsing[name] = len(found) == 1 and any(
                isinstance(each, ast.Call) and last_name(each.func) in _PARSES for each in ast.walk(found[0])
            )
        return self._parsing[name]

    def _is_changed(self, name: str, attribute: str) -> bool:
        survey = self.survey
        is_set = any(each.attr == attribute for each in survey.attributes.get(name, ()))
        return is_set or name in survey.opened or (name, attribute) in survey.inner

    def _calls_of(self, name: str) -> list[tuple[ast.Call, Scope]]:
        if self._calls is None:
            self._calls = {}
            for call, scope in self.survey.calls:
                if isinstance(call.func, ast.Name):
                    self._calls.setdefault(call.func.id, []).append((call, scope))
        return self._calls.get(name, [])

    def _is_run(self, name: str) -> bool:
        if self._run is None:
            self._run = {
                each.id
                for call, _ in self.survey.calls
                if last_name(call.func) in _RUNS
                for each in call.args
                if isinstance(each, ast.Name)
            }
        return name in self._run


def _given(
    function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, call: ast.Call, scope: Scope
) -> Held | None:
    """The argument that a call gives to a parameter, or the default that it leaves."""
    if any(keyword.arg is None for keyword in call.keywords) or any(
        isinstance(each, ast.Starred) for each in call.args
    ):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return Held(keyword.value, scope)
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    at = names.index(name) if name in names else len(call.args)
    if at < len(call.args):
        return Held(call.args[at], scope)
    default = _default(function, name)
    return Held(default, scope) if isinstance(default, ast.Constant) else None


def _default(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip([each.arg for each in reversed(plain)], reversed(arguments.defaults), strict=False))
    only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return (defaults | {each.arg: default for each, default in only if default is not None}).get(name)


def is_free(node: ast.expr) -> bool:
    """Whether an expression has no names in it, so that it means the same everywhere in the script."""
    return not any(isinstance(each, ast.Name) for each in ast.walk(node))


def _as_defaults(fields: Fields) -> Fields:
    return {name: replace(held, is_default=True) for name, held in fields.items()}


def last_name(node: ast.expr) -> str:
    """`field` of `dataclasses.field`; empty for what has no name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _classes_given(call: ast.Call) -> list[ast.expr]:
    given = call.args[0] if call.args else None
    for keyword in call.keywords:
        if keyword.arg == "dataclass_types":
            given = keyword.value
    if given is None:
        return []
    return [*given.elts] if isinstance(given, ast.Tuple | ast.List) else [given]


def _field(value: ast.expr) -> ast.expr | None:
    """The default of a field, as it is or in `field(default=...)`; a class that makes it counts as a call of it."""
    if not isinstance(value, ast.Call) or last_name(value.func) not in ("field", "Field"):
        return value
    for keyword in value.keywords:
        if keyword.arg == "default":
            return keyword.value
        if keyword.arg == "default_factory" and isinstance(keyword.value, ast.Name):
            return ast.copy_location(ast.Call(func=keyword.value, args=[], keywords=[]), value)
    is_pydantics = isinstance(value.func, ast.Name) and value.func.id == "Field"
    return value.args[0] if is_pydantics and value.args else None


def _set_in(body: list[ast.stmt], scope: Scope) -> Fields:
    """Literals that `__init__` sets on the object outside of every block."""
    found: Fields = {}
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                found.pop(name, None)
                if isinstance(value, ast.Constant | ast.UnaryOp | ast.Tuple | ast.List | ast.Call):
                    found[name] = Held(value, scope)
            case _:
                pass
    return found
