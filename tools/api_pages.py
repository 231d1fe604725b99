"""`docs/api/`: the functions and classes of `trimtab`, `trimtab.parts` and `trimtab.guard`, with their types.

Read from the syntax tree, so that nothing heavy is imported and signatures stay as they are written.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import trimtab
from trimtab import parts

SOURCE = Path(trimtab.__file__).parent
WIDTH = 88
GUARD = {
    name: f"trimtab.guard.{home}"
    for name, home in (("Guard", "guard"), ("Verdict", "guard"), ("OutlierRule", "outlier"))
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Page(NamedTuple):
    """A page of the reference."""

    title: str
    about: str
    homes: Mapping[str, str]
    """The module of each name."""
    package: str
    """Where users import the names from; empty: from its module."""


PAGES = {
    "trimtab": Page(
        "Python API: trimtab",
        "The commands as typed functions, and the models that they give. `import trimtab` loads neither PyTorch nor "
        "NumPy; a function loads what it needs when it is first used. Wrong input raises `trimtab.errors.InputError`.",
        trimtab.HOMES,
        "trimtab",
    ),
    "parts": Page(
        "Python API: trimtab.parts",
        "Parts for your own training loop. [Functions for your own training loop](../functions.md) shows each in an "
        "example that runs.",
        parts.HOMES,
        "trimtab.parts",
    ),
    "guard": Page(
        "Python API: trimtab.guard",
        "The verdict on a step before the update, in any training loop. [Guard your training loop](../how_to/guard.md) "
        "shows how to use it.",
        GUARD,
        "trimtab.guard",
    ),
}
RETURNED = Page(
    "Python API: what functions return",
    "The classes of what the functions of [trimtab](trimtab.md), [trimtab.parts](parts.md) and "
    "[trimtab.guard](guard.md) return. You get them from these functions; import them for annotations.",
    {},
    "",
)


def api_pages() -> dict[str, str]:
    """The pages by their paths."""
    given = {name: home for page in PAGES.values() for name, home in _given(page).items()}
    pages = {**PAGES, "returned": RETURNED._replace(homes=given)}
    return {f"docs/api/{name}.md": "\n".join(_page(page)) + "\n" for name, page in pages.items()}


def _given(page: Page) -> dict[str, str]:
    """The classes of trimtab that a page's functions return, which have no entry of their own, by their modules."""
    found = {}
    for name, home in page.homes.items():
        tree = _tree(home)
        node = _node(tree, name)
        if isinstance(node, Function) and node.returns is not None:
            words = {each.id for each in ast.walk(node.returns) if isinstance(each, ast.Name)}
            found |= {word: module for word, module in _classes(tree, home).items() if word in words}
    own = {name for each in PAGES.values() for name in each.homes}
    return {name: home for name, home in found.items() if name not in own}


def _classes(tree: ast.Module, home: str) -> dict[str, str]:
    """The classes that a module defines or takes from trimtab, by the module that defines them."""
    found = {each.name: home for each in tree.body if isinstance(each, ast.ClassDef)}
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("trimtab."):
            assert each.module is not None, "it begins with the name of the package"
            for alias in each.names:
                if isinstance(_node(_tree(each.module), alias.name), ast.ClassDef):
                    found[alias.asname or alias.name] = each.module
    return found


def definition(module: str, name: str) -> ast.stmt | None:
    """The function or class of a name in a module of trimtab."""
    return _node(_tree(module), name)


@cache
def _tree(module: str) -> ast.Module:
    path = SOURCE.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _node(tree: ast.Module, name: str) -> ast.stmt | None:
    return next((each for each in tree.body if getattr(each, "name", None) == name), None)


def _page(page: Page) -> Iterator[str]:
    yield from (
        f"# {page.title}",
        "",
        "<!-- Written by tools/write_pages.py from the source. -->",
        "",
        page.about,
    )
    given = set(_given(page))
    for name in sorted(page.homes, key=str.lower):
        home = page.homes[name]
        node = _node(_tree(home), name)
        yield from ("", f"## {name}", "", f"`from {page.package or home} import {name}`", "")
        if isinstance(node, ast.ClassDef):
            yield from _class(node)
        elif isinstance(node, Function):
            yield from _function(node)
            words = [each.id for each in ast.walk(node.returns or node) if isinstance(each, ast.Name)]
            if links := [
                f"[{each}](returned.md#{each.lower()})" for each in dict.fromkeys(words) if each in given
            ]:
                yield from ("", f"Returns {', '.join(links)}.")
        else:
            raise TypeError(f"{name} of {home} is neither a function nor a class")


def _class(node: ast.ClassDef) -> Iterator[str]:
    init = next((each for each in node.body if isinstance(each, Function) and each.name == "__init__"), None)
    if init is not None:
        yield from _fence(_signature(init, as_call_of=node.name))
    yield _told(node)
    if fields := list(_fields(node)):
        yield from ("", "| field | type | default | meaning |", "| --- | --- | --- | --- |")
        yield from fields
    for each in node.body:
        if isinstance(each, Function) and not each.name.startswith("_") and ast.get_docstring(each):
            yield from ("", f"### {node.name}.{each.name}", "")
            if _is_property(each):
                assert each.returns is not None, f"{each.name} has no type"
                yield from _fence(f"{each.name}: {ast.unparse(each.returns)}")
                yield _told(each)
            else:
                yield from _function(each)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """The rows of annotated fields; the string below a field says what it means."""
    for each, following in zip(node.body, [*node.body[1:], None], strict=True):
        if (
            not isinstance(each, ast.AnnAssign)
            or not isinstance(each.target, ast.Name)
            or each.target.id.startswith("_")
        ):
            continue
        meaning = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            meaning = " ".join(str(following.value.value).split())
        default = "" if each.value is None else f"`{_cell(ast.unparse(each.value))}`"
        yield f"| `{each.target.id}` | `{_cell(ast.unparse(each.annotation))}` | {default} | {_cell(meaning)} |"


def _function(node: Function) -> Iterator[str]:
    yield from _fence(_signature(node))
    yield _told(node)


def _fence(code: str) -> Iterator[str]:
    yield from ("```python", code, "```", "")


def _told(node: ast.ClassDef | Function) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")


def _is_property(node: Function) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id in ("property", "cached_property")
        for each in node.decorator_list
    )


def _signature(node: Function, *, as_call_of: str = "") -> str:
    """The call with its types on one line, or one line for each argument where that is too long."""
    arguments = [*_arguments(node.args)]
    if arguments and arguments[0].partition(":")[0] in ("self", "cls"):
        arguments = arguments[1:]
    name = as_call_of or node.name
    gives = "" if as_call_of or node.returns is None else f" -> {ast.unparse(node.returns)}"
    line = f"{name}({', '.join(arguments)}){gives}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in arguments), f"){gives}"])


def _arguments(given: ast.arguments) -> Iterator[str]:
    positional = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
    for place, (each, default) in enumerate(zip(positional, defaults, strict=True), 1):
        yield _argument(each, default)
        if place == len(given.posonlyargs):
            yield "/"
    if given.vararg is not None:
        yield f"*{_argument(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _argument(each, default)
    if given.kwarg is not None:
        yield f"**{_argument(given.kwarg, None)}"


def _argument(given: ast.arg, default: ast.expr | None) -> str:
    kind = "" if given.annotation is None else f": {ast.unparse(given.annotation)}"
    if default is None:
        return f"{given.arg}{kind}"
    return f"{given.arg}{kind} = {ast.unparse(default)}" if kind else f"{given.arg}={ast.unparse(default)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
