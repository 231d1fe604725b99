"""Expressions of a script to values; what is called is recorded as an event."""

import ast
from collections.abc import Callable
from typing import Any, Final

from trimtab.checks.document import UNKNOWN
from trimtab.checks.place import Place
from trimtab.checks.read.flow.frames import Frame, either
from trimtab.checks.read.flow.modules import is_module
from trimtab.checks.read.flow.slices import bounds_of
from trimtab.checks.read.flow.turns import written_elements
from trimtab.checks.read.flow.values import Block, Event, Flow, Made, Value
from trimtab.checks.read.literals import computed

MOST_STEPS: Final = 40_000
"""Expressions and statements that are followed in one script."""
_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&",
}  # fmt: skip
_SIGNS: Final[dict[type[ast.unaryop], str]] = {ast.USub: "-", ast.Not: "not", ast.Invert: "~"}
_SAME: Final = frozenset(
    {
        "to", "cuda", "cpu", "float", "half", "bfloat16", "double", "train", "eval", "requires_grad_", "share_memory",
        "apply", "xpu", "npu", "mps",
    }
)  # fmt: skip
"""Methods of a module that give the module itself."""
_SWAPS: Final = frozenset({"prepare", "setup", "initialize"})
"""Methods that give back what they were given, wrapped: Accelerate's, Fabric's, Apex's."""


class TooLong(Exception):
    """There is more in a script than is followed."""


class Evaluator:
    """Evaluates expressions of one script."""

    def __init__(self, spot: Callable[[ast.AST], Place]) -> None:
        self.spot = spot
        self.flow = Flow()
        self.path: tuple[Block, ...] = ()
        self.frame = Frame()
        self.steps = 0

    def evaluate(self, node: ast.expr | None) -> Value:
        """The value of an expression, its calls recorded on the way; raises TooLong."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong
        kind = node.__class__
        if kind is ast.Constant:
            return Value("constant", index=len(self.flow.events), constant=node.value)  # type: ignore[union-attr]
        if kind is ast.Name:
            return self._name(node.id, node)  # type: ignore[union-attr]
        if kind is ast.Attribute:
            return self.attribute(self.evaluate(node.value), node.attr, node)  # type: ignore[union-attr]
        if kind is ast.Call:
            return self._call(node)  # type: ignore[arg-type]
        return self._evaluate(node)

    def _evaluate(self, node: ast.expr | None) -> Value:
        match node:
            case None:
                return self.made("constant", node, constant=None)
            case ast.Await(value=inner) | ast.Starred(value=inner):
                return self.evaluate(inner)
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                value = self.evaluate(inner)
                self.frame.put(name, value)
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self.made("list", node, args=tuple(self.evaluate(item) for item in items))
            case ast.Dict(keys=keys, values=values):
                return self._mapping(node, keys, values)
            case ast.Subscript(value=inner, slice=index):
                return self._item(self.evaluate(inner), self.index(index), node)
            case ast.IfExp(test=test, body=body, orelse=other):
                tested = self.evaluate(test)
                chosen = either((self.evaluate(body), self.evaluate(other)))
                if chosen.made == "either":
                    chosen.fields["<test>"] = tested
                return chosen
            case ast.Lambda():
                return self.made("function", node, node_=node, frame=self.frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case _:
                return self._operation(node)

    def index(self, node: ast.expr) -> Value:
        """The expression in brackets; the bounds of a slice are kept with it."""
        value = self.evaluate(node)
        bounds = bounds_of(node)
        if bounds is not None:
            value.fields["<bounds>"] = self.made("constant", node, constant=bounds)
        return value

    def keep(self, of: Value, item: Value, value: Value) -> None:
        """Puts an item into what holds it; a mapping that gets one in a branch is not known whole any more."""
        if isinstance(item.constant, str | int):
            of.fields[f"[{item.constant!r}]"] = value
        if of.made == "dict" and isinstance(item.constant, str):
            if any(block.kind in ("if", "else") for block in self.path):
                of.args = (*of.args, value)
            else:
                of.keywords[item.constant] = value

    def tick(self) -> None:
        """Counts a step; raises TooLong."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def made(
        self,
        made: Made,
        node: ast.AST | None,
        name: str = "",
        *,
        node_: Any = None,
        place: Place | None = None,
        **parts: Any,
    ) -> Value:
        """A new value."""
        value = Value(made=made, name=name, node=node_, place=place, index=len(self.flow.events), **parts)
        if node_ is not None:
            self.flow.holders.append(value)
        return value

    def attribute(self, of: Value, name: str, node: ast.AST) -> Value:
        """An attribute; the same one of the same object is the same value until it is set again."""
        if of.made == "imported":
            return self.made("imported", node, f"{of.name}.{name}")
        if name in of.fields:
            return of.fields[name]
        if of.made == "object" and (method := _method(of.of, name)) is not None:
            return self.made("bound", node, name, of=of, node_=method, frame=of.of.frame if of.of else None)
        if of.made == "class" and (method := _method(of, name)) is not None:
            return self.made("function", node, name, node_=method, frame=of.frame)
        if of.made == "either":
            return either(tuple(self.attribute(each, name, node) for each in of.args))
        if name in of.keywords and of.made == "call":
            of.fields[name] = of.keywords[name]  # a configuration gives back what it was made with
        else:
            of.fields[name] = self.made("attribute", node, name, of=of)
        return of.fields[name]

    def record(
        self,
        kind: Any,
        name: str,
        subject: Value | None,
        value: Value,
        node: ast.AST,
        item: Value | None = None,
    ) -> None:
        """Adds an event."""
        place = value.place if kind == "call" and value.place is not None else self.spot(node)
        self.flow.events.append(
            Event(
                kind=kind, name=name, subject=subject, value=value, path=self.path, index=len(self.flow.events),
                place=place, item=item,
            )
        )  # fmt: skip

    def enter(self, function: Value, given: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
        """What a function of the script returns; None if it is not followed again."""
        raise NotImplementedError

    def create(
        self, made_of: Value, given: tuple[Value, ...], named: dict[str, Value], node: ast.AST
    ) -> Value:
        """An object of a class of the script."""
        raise NotImplementedError

    def keep_batch(self, element: Value, loader: Value) -> None:
        """Notes how the script makes what a loop takes from a DataLoader."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value) -> None:
        """Gives a value to a name, an attribute, an item or several of them."""
        raise NotImplementedError

    def _name(self, name: str, node: ast.AST) -> Value:
        found = self.frame.find(name)
        return found if found is not None else self._unbound(name, node)

    def _unbound(self, name: str, node: ast.AST) -> Value:
        value = self.made("unknown", node, name, label=name)
        outermost = self.frame
        while outermost.outer is not None:
            outermost = outermost.outer
        outermost.names[name] = value
        return value

    def _item(self, of: Value, index: Value, node: ast.AST) -> Value:
        if (
            of.made == "list"
            and type(index.constant) is int
            and -len(of.args) <= index.constant < len(of.args)
        ):
            return of.args[index.constant]
        key = f"[{index.constant!r}]" if isinstance(index.constant, str | int) else ""
        if key and key in of.fields:
            return of.fields[key]
        if of.made == "dict" and isinstance(index.constant, str) and index.constant in of.keywords:
            return of.keywords[index.constant]
        value = self.made("item", node, of=of, args=(index,))
        if key:
            of.fields[key] = value
        return value

    def _mapping(self, node: ast.Dict, keys: list[ast.expr | None], values: list[ast.expr]) -> Value:
        named: dict[str, Value] = {}
        others: list[Value] = []
        for key, value in zip(keys, values, strict=True):
            known = self.evaluate(value)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                named[key.value] = known
            elif key is None and known.made == "dict":
                named |= known.keywords
            else:
                others.append(known)
        return self.made("dict", node, keywords=named, args=tuple(others))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        if (each := self._written_out(node)) is not None:
            return each
        path, outer = self.path, self.frame
        self.frame = Frame(outer=outer, owner=outer.owner)
        iterated: list[Value] = []
        tests: list[Value] = []
        try:
            for generator in node.generators:
                over = self.evaluate(generator.iter)
                iterated.append(over)
                self.path = (*self.path, Block("comprehension", over, place=self.spot(node)))
                self.bind(generator.target, self.element(over, node))
                tests += [self.evaluate(test) for test in generator.ifs]
            key = self.evaluate(node.key) if isinstance(node, ast.DictComp) else None
            inside = self.evaluate(node.value if isinstance(node, ast.DictComp) else node.elt)
        finally:
            self.path, self.frame = path, outer
        made = self.made("element", node, "comprehension", of=iterated[0], args=(inside,))
        if key is not None:
            made.fields["<key>"] = key
        if tests:
            made.fields["<tests>"] = (
                tests[0] if len(tests) == 1 else self.made("list", node, args=tuple(tests))
            )
        return made

    def _written_out(self, node: ast.expr) -> Value | None:
        """The list that `[Adam(net.parameters()) for net in (one, other)]` is; None for any other comprehension."""
        if not isinstance(node, ast.ListComp) or len(node.generators) != 1 or node.generators[0].ifs:
            return None
        over = node.generators[0].iter
        names = over.elts if isinstance(over, ast.Tuple | ast.List) else [over]
        if not isinstance(node.elt, ast.Call) or not all(isinstance(each, ast.Name) for each in names):
            return None
        elements = written_elements(self.evaluate(over))
        if not elements:
            return None
        outer, made = self.frame, list[Value]()
        self.frame = Frame(outer=outer, owner=outer.owner)
        for each in elements:
            self.bind(node.generators[0].target, each)
            made.append(self.evaluate(node.elt))
        self.frame = outer
        return self.made("list", node, args=tuple(made))

    def element(self, over: Value, node: ast.AST) -> Value:
        """What a loop takes from what it goes over."""
        if over.made == "call" and over.name in ("enumerate", "builtins.enumerate") and over.args:
            count = self.made("unknown", node, "count", of=over)
            return self.made("list", node, args=(count, self.element(over.args[0], node)))
        if over.made == "call" and over.last in ("tqdm", "trange", "track", "prefetch") and over.args:
            return self.element(over.args[0], node)
        if over.made == "element" and over.name == "comprehension" and over.args:
            return over.fields.get("<key>", over.args[0])
        if over.made == "call" and over.name == "zip":
            return self.made("list", node, args=tuple(self.element(each, node) for each in over.args))
        taken = self.made("element", node, of=over)
        if over.made == "call" and over.name == "torch.utils.data.DataLoader":
            self.keep_batch(taken, over)
        return taken

    def _operation(self, node: ast.expr | None) -> Value:
        match node:
            case ast.BinOp(left=left, op=operator, right=right):
                one, other = self.evaluate(left), self.evaluate(right)
                return self.made(
                    "binary", node, _OPERATORS.get(type(operator), ""), args=(one, other),
                    constant=computed(one.constant, operator, other.constant),
                )  # fmt: skip
            case ast.UnaryOp(op=operator, operand=operand):
                value = self.evaluate(operand)
                constant: Any = UNKNOWN
                if isinstance(operator, ast.USub) and type(value.constant) in (int, float):
                    constant = -value.constant
                elif isinstance(operator, ast.Not) and isinstance(value.constant, bool):
                    constant = not value.constant
                return self.made(
                    "binary", node, _SIGNS.get(type(operator), "+"), args=(value,), constant=constant
                )
            case ast.BoolOp(op=operator, values=values):
                name = "and" if isinstance(operator, ast.And) else "or"
                return self.made("binary", node, name, args=tuple(self.evaluate(each) for each in values))
            case ast.Compare(left=left, ops=operators, comparators=others):
                args = (self.evaluate(left), *(self.evaluate(each) for each in others))
                return self.made(
                    "compare",
                    node,
                    type(operators[0]).__name__,
                    args=args,
                    constant=_is_none(operators[0], args),
                )
            case _:
                parts = (
                    [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                    if node
                    else []
                )
                return self.made("unknown", node, args=tuple(self.evaluate(each) for each in parts))

    def _call(self, node: ast.Call) -> Value:
        callee = self._callee(node.func)
        given = [self.evaluate(argument) for argument in node.args]
        has_rest = any(isinstance(argument, ast.Starred) for argument in node.args)
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif value.made == "dict" and not value.args:
                named |= value.keywords
            else:
                has_rest = True
                given.append(value)
        name, of = _called(callee)
        call = Value(
            "call",
            name,
            of=of,
            args=tuple(given),
            keywords=named,
            has_rest=has_rest,
            place=self.spot(node),
            index=len(self.flow.events),
        )
        return self._result(callee, call, node)

    def _callee(self, function: ast.expr) -> Value:
        """What is called; a method keeps its receiver, even where the attribute is unknown."""
        if not isinstance(function, ast.Attribute):
            return self.evaluate(function)
        of = self.evaluate(function.value)
        found = self.attribute(of, function.attr, function)
        if found.made == "either" and all(each.made == "bound" for each in found.args):
            return found.args[0]  # a method of one class, whichever object of several it is
        is_method = found.made == "either" and all(each.made == "attribute" for each in found.args)
        if (
            found.made in ("imported", "function", "bound", "class", "object", "call", "either", "parameter")
            and not is_method
        ):
            return found
        return self.made("attribute", function, function.attr, of=of)

    def found_elsewhere(self, callee: Value) -> Value:
        """A function or class of another file of the folder, where that is what an imported name means."""
        raise NotImplementedError

    def _result(self, callee: Value, call: Value, node: ast.Call) -> Value:
        given, named = call.args, call.keywords
        if callee.made == "imported":
            callee = self.found_elsewhere(callee)
        match callee.made:
            case "function" | "bound":
                function = callee
                inside = given if callee.made == "function" else (callee.of or callee, *given)
                self.record("call", callee.name or call.last, callee.of, call, node)
                returned = self.enter(function, inside, named)
                return call if returned is None else returned
            case "class":
                created = self.create(callee, given, named, node)
                created.place = created.place or call.place
                self.record("call", callee.name, None, created, node)
                return created
            case "object":
                self.record("call", "__call__", callee, call, node)
                method = _method(callee.of, "forward") or _method(callee.of, "__call__")
                if method is None:
                    return call
                bound = self.made(
                    "bound",
                    node,
                    "forward",
                    of=callee,
                    node_=method,
                    frame=callee.of.frame if callee.of else None,
                )
                returned = self.enter(bound, (callee, *given), named)
                if returned is not None:
                    call.fields["<returned>"] = returned
                return call
            case "attribute" | "imported":
                self.record("call", callee.last, callee.of, call, node)
                return self._given_back(callee, call)
            case _:
                self.record("call", call.last, call.of, call, node)
                return call

    def _given_back(self, callee: Value, call: Value) -> Value:
        """What is known to come back from a method: the module itself, or what was handed over."""
        of = callee.of
        if of is not None and of.made == "dict" and callee.name in ("update", "setdefault"):
            of.args = (*of.args, *call.args, *call.keywords.values())
        if of is not None and callee.name == "get" and of.made == "dict" and call.args:
            return of.keywords.get(str(call.args[0].constant), call)
        if of is not None and callee.name in _SAME and is_module(of):
            return of
        if callee.last in _SWAPS and call.args and not call.has_rest and callee.made == "attribute":
            wrapped = call.args
            return wrapped[0] if len(wrapped) == 1 else self.made("list", None, args=wrapped)
        if (
            callee.name.startswith(("apex.amp.", "amp."))
            and callee.last == "initialize"
            and len(call.args) > 1
        ):
            return self.made("list", None, args=call.args)
        return call


def _is_none(operator: ast.cmpop, args: tuple[Value, ...]) -> Any:
    """What `x is None` and `x is not None` come to, where x is written."""
    if len(args) != 2 or args[1].constant is not None or args[0].constant is UNKNOWN:
        return UNKNOWN
    if isinstance(operator, ast.Is):
        return args[0].constant is None
    return args[0].constant is not None if isinstance(operator, ast.IsNot) else UNKNOWN


_BUILTINS: Final = frozenset(
    {
        "len",
        "range",
        "enumerate",
        "zip",
        "print",
        "int",
        "float",
        "str",
        "min",
        "max",
        "sum",
        "list",
        "tuple",
        "dict",
    }
)


def _called(callee: Value) -> tuple[str, Value | None]:
    """The name of a call, and what it is a call of."""
    match callee.made:
        case "imported" | "function" | "class":
            return callee.name, None
        case "attribute" | "bound":
            return callee.name, callee.of
        case "unknown" if callee.name:
            return callee.name, None if callee.name in _BUILTINS else callee
        case _:
            return "__call__", callee


def _method(value: Value | None, name: str) -> ast.AST | None:
    if value is None or value.node is None:
        return None
    for part in value.node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name == name:
            return part
    for base in value.args:
        if base.made == "class" and base is not value and (found := _method(base, name)) is not None:
            return found
    return None
