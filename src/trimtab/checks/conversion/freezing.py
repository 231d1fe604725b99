"""Weights that a script of transformers freezes, as patterns over their names."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from trimtab.checks.conversion.draft import Draft, scalar

PREFIX = "network."
"""Before the names of weights in a model that transformers computes."""
MOST_LAYERS = 1000
MOST_FUNCTIONS = 100
"""Functions of a script that are entered."""
_OTHERS: Final = ("Config", "Extractor", "Processor", "Tokenizer", "TokenizerFast")
"""Ends of the names of classes that are loaded beside a model."""


@dataclass
class Frozen:
    """What a script freezes."""

    patterns: list[str] = field(default_factory=list[str])
    """Names below the model, such as `bert.embeddings.*`."""
    unread: list[int] = field(default_factory=list[int])
    """Lines that freeze or train again what cannot be named without running the script."""
    is_all_but_parts: bool = False
    """Whether some of these lines freeze the whole model and train parts of it again."""


def frozen_in(text: str) -> Frozen:
    """Reads `X.requires_grad_(False)`, and loops over `X.parameters()` that set `requires_grad = False`, where X is the
    model that `from_pretrained` loads, a part of it, or each layer of a slice such as `model.bert.encoder.layer[:8]`;
    nothing of a text that is no Python."""
    try:
        reader = _Reader(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return Frozen()
    return Frozen(_patterns(reader.frozen), sorted(reader.unread), reader.is_all_but_parts)


def in_module(pattern: str) -> tuple[str, ...]:
    """A pattern over the names that weights have in transformers, for a model that transformers computes."""
    return (PREFIX + pattern,)


def write_freezing(draft: Draft, names: Callable[[str], Sequence[str]] = in_module) -> None:
    """Writes `freeze`, with patterns by `names`, which gives none where the recipe's model has no such weights; says
    those, and what could not be read."""
    if draft.run.document.syntax != "python":
        return
    found = frozen_in(draft.run.document.text)
    named = {pattern: names(pattern) for pattern in found.patterns}
    if written := [each for some in named.values() for each in some]:
        draft.say(f"freeze: [{', '.join(map(scalar, written))}]", comment="requires_grad = False")
    _note_unnamed(draft, [pattern for pattern, some in named.items() if not some])
    _note_unread(draft, found)
    if found.is_all_but_parts and draft.counts_examples:
        draft.note(
            "the script freezes the whole model and trains parts of it again: to train the head alone, with the "
            "pooler of a model that has one, set `model.trained_layers: 0`"
        )


def note_freezing(draft: Draft) -> None:
    """Says what is frozen there, where the recipe's model is another."""
    if draft.run.document.syntax != "python":
        return
    found = frozen_in(draft.run.document.text)
    _note_unnamed(draft, found.patterns)
    _note_unread(draft, found)


def _note_unnamed(draft: Draft, patterns: Sequence[str]) -> None:
    if patterns:
        are = "is" if len(patterns) == 1 else "are"
        draft.note(
            f"{', '.join(patterns)} {are} frozen there: name them in `freeze`, with `{PREFIX}` in front where "
            "transformers computes the model, or as `embedding.weight` and `decoder.blocks.[0-9].*` for Llama, Mistral "
            "and Qwen"
        )


def _note_unread(draft: Draft, found: Frozen) -> None:
    if found.unread:
        lines = ", ".join(map(str, found.unread))
        which = f"line {lines} sets" if len(found.unread) == 1 else f"lines {lines} set"
        draft.note(
            f"{which} which weights are trained, and only running the script would show the names of all that are "
            "frozen: name them in `freeze`"
        )


class _Reader:
    """Reads a script in the order in which it runs, without deciding any condition."""

    def __init__(self, tree: ast.Module) -> None:
        self.paths: dict[str, list[str]] = {name: [""] for name in _models(tree)}
        """Paths below the model of what a variable holds; a loop's variable holds several in turn."""
        self.lists: set[str] = set()
        """Variables that hold several parts."""
        self.functions = {node.name: node for node in _functions(tree)}
        self.entered: set[str] = set()
        self.frozen: dict[str, int] = {}
        """Lines by the paths that they freeze."""
        self.unread: set[int] = set()
        self.is_all_but_parts = False
        self.read(tree.body)
        for name, function in self.functions.items():
            if name not in self.entered:
                self.leave_unread(function)

    def read(self, body: list[ast.stmt]) -> None:
        """Statements that run whatever the options are."""
        for node in body:
            match node:
                case ast.For(target=target, iter=ast.Call(func=ast.Attribute(value=part, attr=attr))) if (
                    attr in ("parameters", "named_parameters")
                ):
                    self.read_weights(node, part, target)
                case ast.For(target=ast.Name(id=name), iter=parts):
                    before = self.paths.get(name)
                    self.paths[name] = self.elements(parts)
                    self.read(node.body)
                    self.hold(name, before or [])
                case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                    self.read_value(node, value)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.read_value(node, value)
                    self.assign(name, value)
                case ast.Assign(targets=[ast.Attribute() as part], value=ast.Call()) if _is_part(
                    self.found(part)
                ):
                    self.set(part, True, node)  # a new layer in the place of a pretrained one is trained
                case ast.With():
                    self.read(node.body)
                case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                    self.read(node.body)
                case ast.FunctionDef():
                    pass
                case _:
                    self.leave_unread(node)

    def read_value(self, node: ast.stmt, value: ast.expr) -> None:
        """Reads a call of `requires_grad_`, else the functions that a statement names, each once."""
        match _without_moves(value):
            case ast.Call(func=ast.Attribute(value=part, attr="requires_grad_")) as call:
                self.set(part, _flag(call), node)
                return
            case _:
                self.leave_unread(node)
        for each in ast.walk(value):
            if (
                isinstance(each, ast.Name)
                and each.id in self.functions
                and each.id not in self.entered
                and len(self.entered) < MOST_FUNCTIONS
            ):
                self.entered.add(each.id)
                self.read(self.functions[each.id].body)

    def assign(self, name: str, value: ast.expr) -> None:
        """A variable becomes a part of the model; one that is wrapped, `model = prepare(model)`, stays it."""
        part = _without_moves(value)
        is_wrapped = any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(value))
        is_loaded = isinstance(part, ast.Call) and _called(part) == "from_pretrained"
        if not is_wrapped and not (is_loaded and self.paths.get(name) == [""]):
            self.hold(name, self.found(value))
            (self.lists.add if _is_list(part) else self.lists.discard)(name)

    def hold(self, name: str, paths: list[str]) -> None:
        if paths:
            self.paths[name] = paths
        else:
            self.paths.pop(name, None)

    def read_weights(self, loop: ast.For, part: ast.expr, target: ast.expr) -> None:
        """A loop over weights: it sets them all, or those that a condition on each decides."""
        name = target.elts[-1] if isinstance(target, ast.Tuple) else target
        flags = [flag for each in loop.body if (flag := _sets(each, name)) is not None]
        settings = [each for each in ast.walk(loop) if _setting(each) is not None]
        if len(flags) == len(settings) == 1:
            self.set(part, flags[0], loop)
        else:
            self.leave_unread(loop)

    def set(self, part: ast.expr, flag: bool | None, node: ast.stmt) -> None:
        """Weights of a part are frozen or trained; None where the script computes which."""
        paths = self.found(part)
        if flag is None or not paths:
            self.leave_unread(node)
        elif not flag:
            self.frozen.update((path, node.lineno) for path in paths if path not in self.frozen)
            if len(self.frozen) > MOST_LAYERS:
                self.forget(node.lineno)
        elif any(_is_below(path, above) for path in paths for above in self.frozen if above != path):
            self.forget(node.lineno)
        elif self.frozen:
            for below in [each for each in self.frozen if any(_is_below(each, path) for path in paths)]:
                del self.frozen[below]

    def forget(self, line: int) -> None:
        """A line trains some of what is frozen: patterns name what is frozen, and the rest of it is not known."""
        if self.frozen:
            self.is_all_but_parts = self.is_all_but_parts or "" in self.frozen
            self.unread |= {line, *self.frozen.values()}
            self.frozen.clear()

    def leave_unread(self, node: ast.stmt) -> None:
        """What a statement may freeze or train again, which only running it would show."""
        for each in ast.walk(node):
            match _setting(each):
                case None:
                    pass
                case (True, line):
                    self.forget(line)
                case (_, line):
                    self.unread.add(line)

    def elements(self, parts: ast.expr) -> list[str]:
        """Paths below the model of what a loop goes over; `*` stands for the numbers of all layers."""
        paths = self.found(parts)
        is_list = _is_list(parts) or (isinstance(parts, ast.Name) and parts.id in self.lists)
        return paths if is_list else [f"{path}.*" for path in paths if path]

    def found(self, part: ast.expr) -> list[str]:
        """Paths below the model; none where they cannot be read."""
        match _without_moves(part):
            case ast.Name(id=name):
                return self.paths.get(name, [])
            case ast.Attribute(attr="base_model"):
                return []  # its name is that of the family
            case ast.Attribute(value=owner, attr=attr):
                return [f"{path}.{attr}" if path else attr for path in self.found(owner)]
            case ast.Subscript(value=owner, slice=ast.Constant(value=int(number))) if number >= 0:
                return [f"{path}.{number}" for path in self.found(owner)]
            case ast.Subscript(
                value=owner, slice=ast.Slice(lower=lower, upper=ast.Constant(value=int(stop)), step=None)
            ):
                begin = 0 if lower is None else lower.value if isinstance(lower, ast.Constant) else None
                if not isinstance(begin, int) or not 0 <= begin < stop <= MOST_LAYERS:
                    return []
                paths = self.found(owner)
                if len(paths) * (stop - begin) > MOST_LAYERS:
                    return []
                return [f"{path}.{number}" for path in paths for number in range(begin, stop)]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                several = [
                    self.found(each.value if isinstance(each, ast.Starred) else each) for each in parts
                ]
                return [path for paths in several for path in paths] if all(several) else []
            case _:
                return []


def _models(tree: ast.Module) -> set[str]:
    """Variables that hold a pretrained model; of several the one that a trainer gets, else the one named `model`."""
    loaded: set[str] = set()
    trained: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                match _without_moves(value):
                    case ast.Call(func=ast.Attribute(value=owner, attr="from_pretrained")):
                        if not ast.unparse(owner).endswith(_OTHERS):
                            loaded.add(name)
                    case _:
                        pass
            case ast.Call() if _called(node).endswith("Trainer"):
                given = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "model")]
                trained |= {each.id for each in given if isinstance(each, ast.Name)}
            case _:
                pass
    return loaded if len(loaded) < 2 else loaded & trained or loaded & {"model"}


def _is_list(value: ast.expr) -> bool:
    return isinstance(value, ast.List | ast.Tuple) or (
        isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
    )


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a script, those inside others too; no methods."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            yield node
        if not isinstance(node, ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _without_moves(value: ast.expr) -> ast.expr:
    """What `model.to(device)` moves."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=owner, attr="to" | "cuda" | "cpu" | "half" | "float" | "train" | "eval")
        ):
            return _without_moves(owner)
        case _:
            return value


def _flag(call: ast.Call) -> bool | None:
    """The argument of `requires_grad_`, True by default; None where the script computes it."""
    given = [*call.args, *(each.value for each in call.keywords)]
    if not given:
        return True
    return given[0].value if isinstance(given[0], ast.Constant) and isinstance(given[0].value, bool) else None


def _setting(node: ast.AST) -> tuple[bool | None, int] | None:
    """Whether weights are trained from here on, None where the script computes it, and the line; None for a node that
    says nothing of it."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=bool(flag))):
            return flag, node.lineno
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")]):
            return None, node.lineno
        case ast.Call(func=ast.Attribute(attr="requires_grad_")):
            return _flag(node), node.lineno
        case _:
            return None


def _sets(node: ast.stmt, name: ast.expr) -> bool | None:
    """What a statement sets `requires_grad` of a variable to."""
    match node, name:
        case (
            ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own))], value=ast.Constant(value=bool(flag))),
            ast.Name(id=wanted),
        ) if own == wanted and _setting(node) is not None:
            return flag
        case (
            ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="requires_grad_")) as call
            ),
            ast.Name(id=wanted),
        ) if own == wanted:
            return _flag(call)
        case _:
            return None


def _is_part(paths: list[str]) -> bool:
    """Whether they are parts with weights; a model's `config` has none."""
    return any(path and "config" not in path for path in paths)


def _is_below(path: str, above: str) -> bool:
    """Whether a path is a part of another one, or the same; `*` may be any name."""
    names, wanted = path.split("."), above.split(".") if above else []
    return len(names) >= len(wanted) and all(
        own == other or "*" in (own, other) for own, other in zip(names, wanted, strict=False)
    )


def _patterns(paths: Iterable[str]) -> list[str]:
    """Patterns of paths, one for layers that follow one another and have one digit."""
    patterns: list[str] = []
    run: list[int] = []
    of = ""
    for path in (*paths, None):
        owner, _, last = path.rpartition(".") if path else ("", "", "")
        is_next = bool(run) and owner == of and last.isdecimal() and int(last) == run[-1] + 1 < 10
        if run and not is_next:
            patterns.append(f"{of}.[{run[0]}-{run[-1]}].*" if len(run) > 1 else f"{of}.{run[0]}.*")
            run = []
        if path is not None and owner and last.isdecimal():
            run.append(int(last))
            of = owner
        elif path is not None:
            is_one = last in ("weight", "bias")
            patterns.append(path if is_one else f"{path}.*" if path else "*")
    return patterns
