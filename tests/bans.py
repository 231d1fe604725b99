"""Finds, in Python source, whatever could run code that came in a file, and whatever forks a process."""

import ast
import re
from collections.abc import Iterator

MODULES = {
    "pickle",
    "_pickle",
    "cPickle",
    "pickletools",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "jsonpickle",
    "hickle",
    "yaml",  # recipes are read by ruamel's composer, which makes no objects
    "code",
    "codeop",
    "runpy",
}
"""Modules that nothing here needs."""

BETWEEN_PROCESSES = "multiprocessing"
"""Pickles what it sends. The place that may import it sends to processes that it started itself, through pipes that
have no name and no file, so nobody else can put anything in."""

BUILTINS = {"eval", "exec", "compile", "__import__"}

CALLS = {
    *(
        f"torch.{name}"
        for name in ("load", "save", "hub.load", "jit.load", "package.PackageImporter", "export.load")
    ),
    *(f"torch.serialization.{name}" for name in ("load", "save", "add_safe_globals")),
    *(
        f"torch.distributed.checkpoint.{name}"
        for name in ("load", "save", "load_state_dict", "save_state_dict")
    ),
    "numpy.fromregex",
    "pandas.read_pickle",
    "ruamel.yaml.load",
    "importlib.util.spec_from_file_location",
    "importlib.machinery.SourceFileLoader",
}
"""Functions, by the names under which their modules are known."""

WITH_ALLOW_PICKLE = {"numpy.load", "numpy.save", "numpy.savez", "numpy.lib.format.read_array"}
"""Functions that must say that they want no pickles; the default of one of them was another once."""


FORKS = {
    *(f"os.{name}" for name in ("fork", "fork1", "forkpty", "register_at_fork")),
    *(f"posix.{name}" for name in ("fork", "fork1", "forkpty")),
    "pty.fork",
    "pty.spawn",
    "multiprocessing.context.ForkContext",
    "multiprocessing.context.ForkProcess",
    "multiprocessing.popen_fork",
}
"""A fork of a process that has run torch has none of its threads, and waits for them for ever."""

STARTS_PROCESSES = {
    *(f"multiprocessing.{name}" for name in ("Process", "Pool", "Manager", "pool.Pool", "process.Process")),
    "multiprocessing.managers.SyncManager",
    "concurrent.futures.ProcessPoolExecutor",
    "concurrent.futures.process.ProcessPoolExecutor",
    *(f"torch.multiprocessing.{name}" for name in ("Process", "Pool", "Manager")),
}
"""Calls that take the method of the platform where they name none: on Linux a fork, before Python 3.14."""

NAMES_A_DANGER = re.compile(
    "|".join(
        (
            rf"\b(?:import|from)\b.*\b(?:{'|'.join(sorted({*MODULES, BETWEEN_PROCESSES}))})\b",
            rf"(?<![\w.])(?:{'|'.join(sorted(BUILTINS))})\b",
            rf"\b(?:{'|'.join(sorted(each.rpartition('.')[2] for each in CALLS | WITH_ALLOW_PICKLE))})\b",
            r"\b(?:import_module|allow_pickle|weights_only|YAML|system|popen)\b|\bshell *=",
        )
    )
)
"""What stands in everything that is banned, as a pattern of text: to look at every node of every file takes many
seconds."""

NAMES_A_PROCESS = re.compile(
    r"fork|\bpty\b|preexec_fn|multiprocessing|ProcessPoolExecutor|get_context|set_start_method|start_processes"
)
"""A word that stands in everything that is found."""

CHOOSES_METHOD = {"get_context", "set_start_method", "start_processes"}
METHODS = {"method", "mp_context", "context", "ctx", "start_method", "multiprocessing_context"}
"""Keywords that name it."""


def banned(source: str, *, talks_to_processes: bool = False) -> list[str]:
    """`line: what` for everything that is not allowed."""
    if not NAMES_A_DANGER.search(source):
        return []
    tree = ast.parse(source)
    known = dict(_names(tree))
    found = []
    for node in ast.walk(tree):
        for what in _in_node(node, known):
            if what == BETWEEN_PROCESSES and talks_to_processes:
                continue
            found.append(f"{node.lineno}: {what}")
    return found


def forks(source: str) -> list[str]:
    """`line: what` for everything that forks this process, or may on some platform."""
    if not NAMES_A_PROCESS.search(source):
        return []
    tree = ast.parse(source)
    known = dict(_names(tree))
    found = {(node.lineno, what) for node in ast.walk(tree) for what in _forks_in_node(node, known)}
    return [f"{line}: {what}" for line, what in sorted(found)]


def _forks_in_node(node: ast.AST, known: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Name | ast.Attribute) and (name := _full(node, known)) in FORKS:
        yield name
    elif isinstance(node, ast.ImportFrom):
        yield from (name for each in node.names if (name := f"{node.module}.{each.name}") in FORKS)
    elif isinstance(node, ast.Call):
        yield from _forks_in_call(node, _full(node.func, known))


def _forks_in_call(node: ast.Call, name: str) -> Iterator[str]:
    words = {word.arg: word.value for word in node.keywords}
    methods = [words[word] for word in sorted(METHODS & words.keys())]
    # Of any object, since modules and contexts have many names.
    if _last(node.func) in CHOOSES_METHOD:
        methods += node.args[:1]
    if "preexec_fn" in words:
        yield "preexec_fn"
    if (name in STARTS_PROCESSES or _last(node.func) == "get_context") and not methods:
        yield f"{_last(node.func)} without a method"
    if any(_text([method]) == "fork" for method in methods):
        yield "fork"


def _last(node: ast.expr) -> str:
    """The last part of what is called, whatever comes before it."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name stands for: `np` for `numpy`, `load` for `torch.load`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.partition(".")[0],
                    alias.name if alias.asname else alias.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _in_node(node: ast.AST, known: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        )
        tops = {module.partition(".")[0] for module in modules}
        yield from sorted(tops & (MODULES | {BETWEEN_PROCESSES}))
        yield from (name for each in node.names if (name := f"{modules[0]}.{each.name}") in CALLS)
    elif isinstance(node, ast.Name) and node.id in BUILTINS and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and (name := _full(node, known)) in CALLS:
        yield name
    elif isinstance(node, ast.Call):
        yield from _in_call(node, known)


def _in_call(node: ast.Call, known: dict[str, str]) -> Iterator[str]:
    name = _full(node.func, known)
    words = {word.arg: word.value for word in node.keywords}
    if name in ("importlib.import_module", "builtins.__import__") and _text(node.args[:1]) in MODULES:
        yield f"{name} of {_text(node.args[:1])}"
    pickles = words.get("allow_pickle")
    if pickles is not None and not _is(pickles, False):
        yield "allow_pickle"
    if name in WITH_ALLOW_PICKLE and pickles is None:
        yield f"{name} without allow_pickle=False"
    if name.rpartition(".")[2] == "YAML" and _is_unsafe_yaml(node, words):
        yield "YAML that makes objects"
    if "weights_only" in words:
        yield "weights_only"
    if _is(words.get("shell"), True) and name.startswith("subprocess."):
        yield "subprocess with a shell"
    if name in ("os.system", "os.popen"):
        yield name


def _is_unsafe_yaml(node: ast.Call, words: dict[str | None, ast.expr]) -> bool:
    kind = words.get("typ") or (node.args[0] if node.args else None)
    return isinstance(kind, ast.Constant) and kind.value in {"unsafe", "full"}


def _full(node: ast.expr, known: dict[str, str]) -> str:
    """The dotted name with its first part as it was imported; empty for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([known.get(node.id, node.id), *reversed(parts)])


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _text(nodes: list[ast.expr]) -> str:
    return (
        nodes[0].value
        if nodes and isinstance(nodes[0], ast.Constant) and isinstance(nodes[0].value, str)
        else ""
    )
