"""Follows a script from its first line: statements in their order, functions of its own where they are called."""

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from trimtab.checks.document import UNKNOWN
from trimtab.checks.place import Place
from trimtab.checks.read.flow.batches import keep_batch
from trimtab.checks.read.flow.evaluate import Evaluator, TooLong
from trimtab.checks.read.flow.frames import Frame, either, ends, leaves, loosened, merged, stored_names
from trimtab.checks.read.flow.parameters import bind_parameters
from trimtab.checks.read.flow.turns import turns_of
from trimtab.checks.read.flow.values import Block, Flow, Value
from trimtab.checks.read.lines import Lines

DEEPEST: Final = 8
"""Functions inside one another."""
MOST_MODULES: Final = 4
"""Files beside a script that are followed."""
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = ast.For | ast.AsyncFor | ast.While


_TELLING: Final = (
    "backward", "Trainer(", "optim", "DataLoader", "from_pretrained", "entropy", "EntropyLoss", "LogitsLoss",
    "dot_product_attention", "BatchNorm", "merge_and_unload", "generate(", "chat_template", '"labels"', "'labels'",
    ".labels", "-100", "checkpoint", "requires_grad", "__getitem__", "lm_head", "token_embeddings", "get_peft",
    "benchmark", "weights_only", "quantize_static", "accumulate_grad", "load_metric", "LMHead", "TextDataset",
    "top_k_top_p", "automatic_", "pad_sequence", ".eval(", "softmax", "Softmax(", "nll_loss", "NLLLoss", "BCELoss",
    "kl_div",
    "barrier", "wait_for_everyone", "masked_fill", "padding_mask", "batch_decode", "functional.dropout", "F.dropout",
    "best", "nn.Transformer", "worker_init_fn", "= [nn.", ".append(nn.", "nn.LSTM(", "nn.GRU(", "Adafactor(",
    "DataParallel(", "save_pretrained(", "scale_batch_size", "state_dict(", "init_process_group", "AdamW",
    "add_tokens(", "DataCollator", "no_grad", "inference_mode", "SmallestMaxSize", "LongestMaxSize", "PadIfNeeded",
    "etterbox(", "LetterBox(", "train_test_split(", "Accelerator(", "self.log(", "Normalize(",
)  # fmt: skip
"""Something that a rule asks for: a function without any of it is followed only where it is called."""


UNCALLED: Final = frozenset(
    {
        "train", "eval", "zero_grad", "step", "backward", "update", "cuda", "cpu", "half", "detach", "barrier",
        "wait_for_everyone", "reset", "freeze", "requires_grad_", "gradient_checkpointing_enable",
    }
)  # fmt: skip
"""Methods that do nothing where a line only names them."""
KEPT: Final = frozenset(
    {
        "map", "filter", "shuffle", "rename_column", "rename_columns", "remove_columns", "cast", "cast_column",
        "select",
        "sort", "class_encode_column", "add_column", "with_format", "with_transform", "train_test_split", "to", "cuda",
        "masked_fill", "clamp", "unsqueeze", "masked_scatter", "index_fill",
    }
)  # fmt: skip
"""Methods that leave what they are called on as it is and give something new."""
_MOVES: Final = (".to(", ".cuda(")
"""What a rule asks for in the script's own lines."""


@dataclass(frozen=True, slots=True)
class Module:
    """Another file of the folder."""

    tree: ast.Module
    spot: Callable[[ast.AST], Place]
    text: str


Beside = Callable[[str], Module | None]
"""From the name of a module to the file beside the script that it is; None where there is none worth following."""


def follow(
    tree: ast.Module,
    spot: Callable[[ast.AST], Place],
    lines: Lines | None = None,
    beside: Beside | None = None,
) -> Flow:
    """What a script does: its own lines first, then every function that they never reach, with unknown arguments; with
    the `lines` only those in which something happens that a rule asks for. What it calls of files `beside` it is
    followed into them."""
    telling = None if lines is None else telling_lines(lines)
    if telling == [] and lines is not None and _holds_modules(lines.text):
        telling = _lines_with(lines, (".append(",))
    if telling == [] and lines is not None and not any(word in lines.text for word in _MOVES):
        return Flow()
    follower = Follower(spot)
    follower.frame.spot = follower.main = spot
    follower.beside = beside
    follower.telling = telling
    try:
        follower.run(tree.body)
        names = follower.frame.names
        follower.flow.constants |= {
            name: value.constant for name, value in names.items() if value.constant is not UNKNOWN
        }
        follower.run_the_rest()
    except (TooLong, RecursionError):
        follower.flow.is_whole = False
    return follower.flow


def is_telling(text: str) -> bool:
    """Whether a file has something that a rule asks for."""
    return any(word in text for word in _TELLING)


def telling_lines(lines: Lines) -> list[int]:
    """The numbers of the lines that have something a rule asks for, in order."""
    return _lines_with(lines, _TELLING)


def _holds_modules(text: str) -> bool:
    """Whether a class of modules may fill a list of Python's."""
    return "nn.Module)" in text and " = []" in text and "ModuleList" not in text


def _lines_with(lines: Lines, words: tuple[str, ...]) -> list[int]:
    text, found = lines.text, set[int]()
    for word in words:  # each by itself: ten times as fast as one regular expression of all
        at = text.find(word)
        while at >= 0:
            found.add(lines.position(at)[0])
            at = text.find(word, at + len(word))
    return sorted(found)


class Follower(Evaluator):
    """Runs statements without effect."""

    def __init__(self, spot: Callable[[ast.AST], Place]) -> None:
        super().__init__(spot)
        self.functions: list[Value] = []
        """Every function and method, in the order of the file."""
        self.telling: list[int] | None = None
        """Lines that have something a rule asks for; None where every line counts."""
        self.reached: set[Any] = set()
        self.entry: Any = None
        """The function as another module may call it, with unknown arguments."""
        self.active: list[Any] = []
        self.beside: Beside | None = None
        self.main: Callable[[ast.AST], Place] | None = None
        """Of the script itself, whose `__main__` counts."""
        self.modules: dict[str, Frame | None] = {}
        """By name, what is bound in files beside the script."""
        self.modules_followed = 0
        """Files beside the script; names of libraries, which are asked for too, do not count."""
        self.objects: dict[int, Value] = {}
        """By class, the first object of it."""

    def run(self, body: Iterable[ast.stmt]) -> None:
        """Runs statements; what follows a `return` is left out."""
        for statement in body:
            self._run(statement)
            if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
                return

    def run_the_rest(self) -> None:
        """Runs functions that nothing here calls, as another module might."""
        for function in list(self.functions):
            owner = function.frame.owner if function.frame is not None else None
            if function.node in self.reached or not self._tells(function.node, owner):
                continue
            given: tuple[Value, ...] = ()
            if owner is not None:
                given = (self._object_of(owner, function.node),)
                if function.node in self.reached:
                    continue
            self.frame, self.path = _outermost(function.frame), ()
            self.entry = function.node
            self.enter(function, given, {})

    def _tells(self, node: Any, owner: Value | None) -> bool:
        """Whether a function, or the `__init__` of its class, has something that a rule asks for."""
        if self.telling is None:
            return True
        start = _init_of(owner) if owner is not None else None
        nodes = (node,) if start is None or start is node else (node, start)
        return any(
            bisect_left(self.telling, each.lineno) < bisect_right(self.telling, each.end_lineno)
            for each in nodes
        )

    def _object_of(self, owner: Value, node: ast.AST) -> Value:
        if id(owner) not in self.objects:
            self.frame, self.path = _outermost(owner.frame), ()
            self.entry = _init_of(owner)
            self.create(owner, (), {}, node)
        return self.objects[id(owner)]

    def enter(self, function: Value, given: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
        """Runs a function of the script with these arguments and gives what it returns."""
        node = function.node
        if node in self.active or len(self.active) >= DEEPEST:
            return None
        frame, path, spot = self.frame, self.path, self.spot
        outer = function.frame if isinstance(function.frame, Frame) else _outermost(frame)
        self.frame = Frame(outer=outer)
        self.spot = _outermost(outer).spot or spot
        block = Block("function", function, place=self.spot(node))
        self.path = (*path, block)
        self.active.append(node)
        self.reached.add(node)
        try:
            bind_parameters(self, node.args, given, named)
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body)
            self.run(node.body)
            returned = self.frame.returned
            block.returned = tuple(returned)
        finally:
            self.active.pop()
            self.frame, self.path, self.spot = frame, path, spot
        return either(tuple(returned)) if returned else None

    def keep_batch(self, element: Value, loader: Value) -> None:
        """Notes how the script makes what a loop takes from a DataLoader."""
        keep_batch(self, element, loader)

    def found_elsewhere(self, callee: Value) -> Value:
        """A function or class of another file of the folder, where that is what an imported name means."""
        module, _, name = callee.name.rpartition(".")
        if self.beside is None or not module:
            return callee
        if module not in self.modules:
            self.modules[module] = None  # files that import one another
            self.modules[module] = self._names_of(module)
        names = self.modules[module]
        found = names.names.get(name) if names is not None else None
        return found if found is not None and found.made in ("function", "class") else callee

    def _names_of(self, name: str) -> Frame | None:
        if self.beside is None or self.modules_followed >= MOST_MODULES:
            return None
        module = self.beside(name)
        if module is None:
            return None
        self.modules_followed += 1
        frame, path, spot, functions = self.frame, self.path, self.spot, self.functions
        self.frame, self.path, self.spot, self.functions = Frame(spot=module.spot), (), module.spot, []
        self.flow.texts.append(module.text)
        try:
            self.run(module.tree.body)
            return self.frame
        finally:
            # Functions that the script never calls are followed when that file is checked itself.
            self.frame, self.path, self.spot, self.functions = frame, path, spot, functions

    def create(
        self, made_of: Value, given: tuple[Value, ...], named: dict[str, Value], node: ast.AST
    ) -> Value:
        """An object of a class of the script, its `__init__` run."""
        created = self.made("object", node, made_of.name, of=made_of, args=given, keywords=dict(named))
        self.objects.setdefault(id(made_of), created)
        start = self.attribute(created, "__init__", node)
        if start.made == "bound":
            self.enter(start, (created, *given), named)
        else:
            created.fields |= _by_name(made_of, given) | named  # a dataclass
        return created

    def bind(self, target: ast.expr, value: Value) -> None:
        """Gives a value to a name, an attribute, an item or several of them."""
        match target:
            case ast.Name(id=name):
                value.label = value.label or name
                self.frame.put(name, value)
                if "best" in name:
                    self.record("name", name, None, value, target)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value, target)
            case ast.Attribute(value=inner, attr=name):
                of = self.evaluate(inner)
                value.label = value.label or name
                of.fields[name] = value
                self.record("set", name, of, value, target)
            case ast.Subscript(value=inner, slice=index):
                of, item = self.evaluate(inner), self.index(index)
                self.keep(of, item, value)
                self.record("set", "[]", of, value, target, item)
            case ast.Starred(value=inner):
                self.bind(inner, self.made("unknown", target, of=value))
            case _:
                pass

    def _unpack(self, targets: list[ast.expr], value: Value, node: ast.AST) -> None:
        options = value.args if value.made == "list" else ()
        if len(options) == len(targets):
            for target, each in zip(targets, options, strict=True):
                self.bind(target, each)
            return
        for at, target in enumerate(targets):
            index = self.made("constant", node, constant=at)
            self.bind(target, self.made("item", node, of=value, args=(index,)))

    def _run(self, statement: ast.stmt) -> None:
        self.tick()
        match statement:
            case ast.Assign(targets=targets, value=value):
                given = self.evaluate(value)
                for target in targets:
                    self.bind(target, given)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.evaluate(value))
            case ast.AnnAssign(target=ast.Name(id=name)):
                self.frame.put(name, self.made("unknown", statement, label=name))
            case ast.AugAssign(target=target, op=operator, value=value):
                total = self.evaluate(ast.BinOp(_loaded(target), operator, value))
                self.bind(target, total)
                if isinstance(operator, ast.Add):
                    self.record("add", "+=", None, total, statement)
            case ast.Expr(value=ast.Attribute(attr=name) as value) if name in UNCALLED:
                self.record("drop", name, self.evaluate(value.value), self.evaluate(value), value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as value) if name in KEPT:
                result = self.evaluate(value)
                if result.made == "call" and result.of is not None:
                    self.record("drop", name, result.of, result, value)
            case ast.Expr(value=value):
                self.evaluate(value)
            case ast.Return(value=value):
                self.frame.returned.append(self.evaluate(value))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(statement)
            case ast.ClassDef():
                self._define_class(statement)
            case ast.Import() | ast.ImportFrom():
                self._import(statement)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.frame.globals.update(names)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.record("delete", "", None, self.made("unknown", target), target)
            case _:
                self._run_compound(statement)

    def _run_compound(self, statement: ast.stmt) -> None:
        match statement:
            case ast.If(test=test, body=body, orelse=other):
                self._branch(self.evaluate(test), body, other, statement)
            case ast.For(body=body) | ast.AsyncFor(body=body) | ast.While(body=body):
                self._loop(statement, body)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                self._with(items, body, statement)
            case ast.Try() | ast.TryStar():
                self.run(statement.body)
                for handler in statement.handlers:
                    self._inside(Block("except", place=self.spot(statement)), handler.body)
                self.run([*statement.orelse, *statement.finalbody])
            case ast.Match(subject=subject, cases=cases):
                value = self.evaluate(subject)
                for at, case in enumerate(cases):
                    block = Block(
                        "if" if at == 0 else "else", value, id(statement), place=self.spot(statement)
                    )
                    self._inside(block, case.body)
            case ast.Assert(test=test):
                self.evaluate(test)
            case ast.Raise(exc=ast.expr() as raised):
                self.evaluate(raised)
            case _:
                pass

    def _branch(self, test: Value, body: list[ast.stmt], other: list[ast.stmt], node: ast.If) -> None:
        if _is_main(test):
            if _outermost(self.frame).spot is self.main or self.main is None:
                self.run(body)
            return
        if test.constant is True or test.constant is False:
            self.run(body if test.constant else other)
            return
        number = len(self.flow.events) * 4096 + node.lineno
        before = dict(self.frame.names)
        self._inside(Block("if", test, number, is_left=ends(body), place=self.spot(node)), body)
        after = self.frame.names
        self.frame.names = before if not leaves(body) else dict(before)
        if leaves(body):
            after = None
        if other:
            here = self.frame.names
            self.frame.names = dict(here)
            self._inside(Block("else", test, number, is_left=ends(other), place=self.spot(node)), other)
            if leaves(other) and after is not None:
                self.frame.names = after
                return
        self.frame.names = merged(self.frame.names, after) if after is not None else self.frame.names

    def _loop(self, node: _LOOPS, body: list[ast.stmt]) -> None:
        for name in stored_names(body):
            known = self.frame.names.get(name)
            if known is not None:
                self.frame.names[name] = loosened(known)
        if isinstance(node, ast.While):
            block = Block("while", self.evaluate(node.test), place=self.spot(node))
            self._inside(block, body)
        else:
            over = self.evaluate(node.iter)
            block = Block("for", over, place=self.spot(node))
            for each in turns_of(over, body) or (None,):
                path = self.path
                self.path = (*path, block)
                self.bind(node.target, self.element(over, node) if each is None else each)
                self.path = path
                self._inside(block, body)
        self.run(node.orelse)

    def _with(self, items: list[ast.withitem], body: list[ast.stmt], node: ast.stmt) -> None:
        entered: list[Value] = []
        for item in items:
            value = self.evaluate(item.context_expr)
            entered.append(value)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self._inside(Block("with", contexts=tuple(entered), place=self.spot(node)), body)

    def _inside(self, block: Block, body: list[ast.stmt]) -> None:
        path = self.path
        self.path = (*path, block)
        try:
            self.run(body)
        finally:
            self.path = path

    def _define(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self.evaluate(decorator)
        value = self.made("function", node, node.name, node_=node, frame=self.frame)
        self.functions.append(value)
        self.frame.put(node.name, value)

    def _define_class(self, node: ast.ClassDef) -> None:
        bases = tuple(self.evaluate(base) for base in node.bases)
        value = self.made(
            "class", node, node.name, node_=node, args=bases, frame=self.frame, place=self.spot(node)
        )
        self.flow.classes[node.name] = value
        self.frame.put(node.name, value)
        outer = self.frame
        self.frame = Frame(outer=outer, owner=value)
        for part in node.body:
            if isinstance(part, _FUNCTIONS):
                method = self.made("function", part, part.name, node_=part, frame=_Owned(outer, value))
                self.functions.append(method)
            else:
                self._run(part)
        value.fields |= self.frame.names
        self.frame = outer

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.partition(".")[0]
                full = alias.name if alias.asname else name
            else:
                name = alias.asname or alias.name
                full = f"{'.' * node.level}{node.module or ''}.{alias.name}"
            self.frame.put(name, self.made("imported", node, full, place=self.spot(node)))


def _Owned(outer: Frame, owner: Value) -> Frame:
    return Frame(outer=outer, owner=owner)


def _init_of(owner: Value) -> Any:
    """The `__init__` that a class writes itself."""
    body: list[Any] = owner.node.body if owner.node is not None else []
    return next((each for each in body if isinstance(each, _FUNCTIONS) and each.name == "__init__"), None)


def _by_name(made_of: Value, given: tuple[Value, ...]) -> dict[str, Value]:
    """What the fields of a dataclass get by position."""
    body: list[Any] = made_of.node.body if made_of.node is not None else []
    names = [
        each.target.id
        for each in body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    fields = dict(zip(names, given, strict=False))
    for name, value in fields.items():
        value.label = value.label or name
    return fields


def _outermost(frame: Any) -> Frame:
    while frame.outer is not None:
        frame = frame.outer
    return frame


def _loaded(target: ast.expr) -> ast.expr:
    """A target of `+=` as it is read."""
    loaded: Any = type(target)(**{name: getattr(target, name) for name in target._fields if name != "ctx"})
    loaded.ctx = ast.Load()
    return ast.copy_location(loaded, target)


def _is_main(test: Value) -> bool:
    return test.made == "compare" and any(each.name == "__name__" for each in test.args)
