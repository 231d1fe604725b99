"""Turns usage errors of the command line parser into the form of all other wrong input."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from trimtab.cli.command_help import group_page
from trimtab.cli.help_page import render, to_terminal
from trimtab.cli.shell import tell
from trimtab.errors import InputError, Problem

_WRONG_USAGE: type[Exception] = next(
    each for each in typer.BadParameter.__mro__ if each.__name__ == "UsageError"
)
"""Of the parser that typer brings along, or of click, as older versions have it."""
_NOT_ONE_OF = re.compile(r"(?:Value error, )?(?P<got>'.*') is not one of (?P<allowed>.+?)\.?$")
_SHOULD_BE = re.compile(r"Input should be (?P<allowed>.+?)(?:, unable to parse.*)?$")
_PATH = re.compile(r"[Pp]ath (?P<got>'.*') (?P<why>is .+|does .+?)\.?$")
_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((?P<got>.*)\)$")
_COMPLETION = ("--show-completion", "--install-completion")
"""Options of other programs written with typer."""
_NO_COMMAND = re.compile(r"No such command '(?P<got>[^']*)'\.?\s*(?P<near>Did you mean .*\?)?")


class CommandGroup(TyperGroup):
    """A group of commands whose usage errors say what, got, allowed and fix, with exit code 2."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands."""
        formatter.write(render(group_page(self, ctx), bold=to_terminal()))

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """As always."""
        with _usage_errors_reported():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """As always; arguments of a command are read here."""
        with _usage_errors_reported():
            return super().invoke(*args, **kwargs)


@contextmanager
def _usage_errors_reported() -> Generator[None, None, None]:
    try:
        yield
    except InputError as refused:
        tell(refused)
        raise typer.Exit(refused.exit_code) from None
    except _WRONG_USAGE as wrong:
        error: Any = wrong  # what the parser brings along is not known to type checkers
        if type(error).__name__ == "NoArgsIsHelpError":  # nothing was asked for, so the help is shown
            typer.echo(error.format_message(), err=True)
            raise typer.Exit(InputError.exit_code) from None
        tell(InputError(usage_problem(error)))
        raise typer.Exit(InputError.exit_code) from None


def usage_problem(error: Any) -> Problem:
    """What the parser says, in four parts."""
    help_call = f"`{error.ctx.command_path if error.ctx else 'trimtab COMMAND'} --help`"
    match type(error).__name__:
        case "NoSuchOption" if key := _key_meant(error):
            return Problem(
                what=f"{error.option_name}: no such option",
                got=error.option_name,
                allowed=f"keys of the recipe as KEY=VALUE, and the options that {help_call} shows",
                fix=f"write `{key}=VALUE`",
            )
        case "NoSuchOption" if error.option_name in _COMPLETION:
            return Problem(
                what=f"{error.option_name}: no such option",
                got=error.option_name,
                allowed="the command `trimtab completion SHELL`, for bash, zsh or fish",
                fix="see `trimtab completion --help`",
            )
        case "NoSuchOption":
            near = " or ".join(f"`{each}`" for each in error.possibilities or ())
            return Problem(
                what=f"{error.option_name}: no such option",
                got=error.option_name,
                allowed=f"the options in {help_call}",
                fix=f"did you mean {near}?" if near else "leave it out",
            )
        case "MissingParameter":
            return Problem(
                what=f"{_name(error)}: missing",
                got="nothing",
                allowed=_meaning(error.param),
                fix=f"add it; see {help_call}",
            )
        case "BadOptionUsage":
            is_bare = "requires" in error.message
            return Problem(
                what=f"{error.option_name}: {'needs a value' if is_bare else 'takes no value'}",
                got=error.message.rstrip("."),
                allowed=f"{error.option_name} and a value" if is_bare else f"{error.option_name} alone",
                fix=f"see {help_call}",
            )
        case "BadParameter":
            return _bad_value(error, help_call)
        case _:
            return _bad_words(error, help_call)


def _key_meant(error: Any) -> str:
    """The key of the recipe that an option is called like, here or in other tools; only where keys can be given."""
    if error.ctx is None or all(each.name != "overrides" for each in error.ctx.command.params):
        return ""
    from trimtab.config.nearest import WORDS_OF_OTHERS  # late: it loads the recipe's settings
    from trimtab.config.places import known_keys

    word = error.option_name.lstrip("-").replace("-", "_").lower()
    named = [key for key in known_keys() if key in (word, word.replace("_", "."))]
    last = [key for key in known_keys() if key.rpartition(".")[2] == word]
    return (
        named
        or ([WORDS_OF_OTHERS[word]] if word in WORDS_OF_OTHERS else last[:1] if len(last) == 1 else [""])
    )[0]


def _bad_value(error: Any, help_call: str) -> Problem:
    name, said = _name(error), str(error.message)
    if found := _PATH.search(said):
        return Problem(
            what=f"{name}: {found['why']}",
            got=found["got"],
            allowed=_meaning(error.param),
            fix="name another one, or change its permissions",
        )
    found = _NOT_ONE_OF.search(said) or _SHOULD_BE.search(said)
    groups = found.groupdict() if found else {}
    return Problem(
        what=f"{name}: invalid value",
        got=groups.get("got") or _given(error) or said,
        allowed=groups.get("allowed") or _meaning(error.param),
        fix=f"see {help_call}",
    )


def _bad_words(error: Any, help_call: str) -> Problem:
    said = error.format_message()
    if found := _NO_COMMAND.search(said):
        return Problem(
            what=f"{found['got']}: no such command",
            got=found["got"],
            allowed=f"the commands in {help_call}",
            fix=(found["near"] or "").lower() or help_call,
        )
    if found := _EXTRA.search(said):
        text = Path(found["got"])
        reads_text = error.ctx is not None and any(
            "--input" in each.opts for each in error.ctx.command.params
        )
        return Problem(
            what=f"{found['got']}: unexpected argument",
            got=found["got"],
            allowed=error.ctx.command.get_usage(error.ctx).removeprefix("Usage: ")
            if error.ctx
            else help_call,
            fix=f"name a text with `--input {text}`" if reads_text else "leave it out",
        )
    return Problem(
        what=said, got="an invalid command line", allowed=f"the usage in {help_call}", fix=help_call
    )


def _name(error: Any) -> str:
    """The option or argument, as it is written."""
    param = error.param
    if param is None:
        return str(error.param_hint or "the command line").strip("'\"")
    if param.param_type_name == "argument":
        return str(param.metavar or param.name).removesuffix("...").strip()
    return max(param.opts, key=len)


def _meaning(param: Any) -> str:
    """The help of an option or argument, which says what it takes."""
    return str(getattr(param, "help", "") or "").rstrip(".") or "a value"


def _given(error: Any) -> str:
    """The text itself, where the error that lies behind tells it."""
    behind = error.__cause__ or error.__context__
    try:
        return str(behind.errors()[0]["input"])
    except (AttributeError, LookupError, TypeError):
        return ""
