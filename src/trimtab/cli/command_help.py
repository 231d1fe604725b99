"""The help pages of the commands that typer reads, in the look of `help_page`."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from typer.core import TyperCommand

from trimtab.cli.help_page import ARGUMENTS, HelpPage, Row, first_sentence, grouped, render, to_terminal
from trimtab.cli.help_words import EXAMPLES, commands_by_group, group_of
from trimtab.errors import InputError, Problem

_WORDS: Mapping[Any, str] = {int: "N", float: "X", str: "TEXT", Path: "PATH"}
"""What stands for a value, by its type, where the option does not say."""


class HelpfulCommand(TyperCommand):
    """A command whose help page has groups of options and examples, and that refuses empty paths."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As always, but InputError for an empty path, which would be the current folder: a shell leaves one where a
        variable is not set."""
        if not ctx.resilient_parsing:  # which completion asks for
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            types = get_type_hints(self.callback) if self.callback else {}
            if empty := [each for each in self.get_params(ctx) if _is_empty_path(each, given, types)]:
                raise InputError(*map(_empty_path, empty))
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the page."""
        formatter.write(render(command_page(self, ctx), bold=to_terminal()))


class CheckCommand(HelpfulCommand):
    """`check`, whose options another parser reads: the shell completes those."""

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The options that begin so."""
        from trimtab.cli.check import check_parser
        from trimtab.cli.check_help import suggestions

        return suggestions(check_parser(()), incomplete)


def command_page(command: Any, ctx: Any) -> HelpPage:
    """The page of a command from its parameters."""
    types = get_type_hints(command.callback)
    params = [each for each in command.get_params(ctx) if not getattr(each, "hidden", False)]
    rows = [_row(each, ctx, types) for each in params]
    return HelpPage(
        about=command.help or "",
        usage=" ".join([_call(ctx), "[OPTIONS]", *_arguments(params)]),
        sections=grouped(rows),
        examples=EXAMPLES.get(_name(ctx), ()),
        ending=command.epilog or "",
    )


def group_page(group: Any, ctx: Any) -> HelpPage:
    """The page of a group of commands."""
    names = [name for name in group.list_commands(ctx) if not group.get_command(ctx, name).hidden]
    groups = commands_by_group(names) if not _name(ctx) else {"Commands": names}
    sections = {
        title: [Row(name, first_sentence(group.get_command(ctx, name).help or "")) for name in those]
        for title, those in groups.items()
    }
    options = grouped([_row(each, ctx, {}) for each in group.get_params(ctx)])
    return HelpPage(
        about=group.help or "",
        usage=f"{_call(ctx)} [OPTIONS] COMMAND ...",
        sections={**sections, **options},
        examples=EXAMPLES.get(_name(ctx), ()),
        ending=f"`{_call(ctx)} COMMAND -h` shows the options of a command, with examples.",
    )


def _is_empty_path(param: Any, given: Mapping[str, Any], types: Mapping[str, Any]) -> bool:
    value = given.get(param.name)
    return holds_path(types.get(param.name)) and "" in (
        value if isinstance(value, list | tuple) else (value,)
    )


def holds_path(kind: Any) -> bool:
    """Whether a value of this type is a path, or has some in it."""
    return kind is Path or any(map(holds_path, get_args(kind)))


def _empty_path(param: Any) -> Problem:
    option = max(param.opts, key=len)
    return Problem(
        what=f"{option if option.startswith('-') else option.upper()}: is empty",
        got="''",
        allowed="the path of a file or folder; `.` for the current folder",
        fix="give a path; if it comes from a shell variable, check that the variable is set",
    )


def _name(ctx: Any) -> str:
    """The words after `trimtab`, however trimtab was called."""
    return "" if ctx.parent is None else f"{_name(ctx.parent)} {ctx.info_name}".strip()


def _call(ctx: Any) -> str:
    return f"trimtab {_name(ctx)}".strip()


def _arguments(params: Sequence[Any]) -> Iterator[str]:
    """The arguments as the usage names them."""
    for param in params:
        if param.param_type_name == "argument":
            name = str(param.metavar).removesuffix("...").strip() + ("..." if param.nargs == -1 else "")
            yield name if param.required else f"[{name}]"


def _row(param: Any, ctx: Any, types: Mapping[str, Any]) -> tuple[str, Row]:
    """A parameter under the title of its group."""
    meaning = (param.help or "").strip()
    default = _default(param, ctx)
    default = f" [default: {default}]" if default else ""
    if param.param_type_name == "argument":
        choices = _placeholder(types[param.name])
        meaning = f"{meaning} One of {choices.replace('|', ', ')}." if "|" in choices else meaning
        return ARGUMENTS, Row(str(param.metavar), f"{meaning}{default}")
    names = [*sorted(param.opts, key=len), *param.secondary_opts]
    if param.required:
        meaning = f"{meaning} [required]"
    value = "" if param.is_flag else f" {param.metavar or _placeholder(types.get(param.name))}"
    title = getattr(param, "rich_help_panel", None) or group_of(names)
    return title, Row(", ".join(names) + value, f"{meaning}{default}")


def _placeholder(annotation: Any) -> str:
    """What stands for the value of an option: its choices, or a word for its type."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "|".join(map(str, inside))
    if origin in (Union, UnionType, list):
        return _placeholder(next(each for each in inside if each is not NoneType))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(each.value) for each in annotation)
    return _WORDS.get(annotation, "VALUE")


def _default(param: Any, ctx: Any) -> str:
    """The value of an option that is not given, as one would write it; empty where there is none to show."""
    shown = param.show_default
    if isinstance(shown, str):
        return "" if shown == "none" else shown
    value = param.get_default(ctx, call=False)
    if not shown or value is None or isinstance(value, bool) or value in ((), [], ""):
        return ""
    return str(getattr(value, "value", value))
