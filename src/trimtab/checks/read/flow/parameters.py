"""What the parameters of a function hold where it is called, or where nobody calls it."""

import ast
from typing import TYPE_CHECKING

from trimtab.checks.read.flow.values import Value

if TYPE_CHECKING:
    from trimtab.checks.read.flow.follow import Follower


def bind_parameters(
    follower: "Follower", arguments: ast.arguments, given: tuple[Value, ...], named: dict[str, Value]
) -> None:
    """Gives the parameters of a function what its call gives, in the frame that the follower has entered."""
    names = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(names) - len(arguments.defaults)) + [*arguments.defaults]
    is_called = follower.active != [follower.entry]
    for at, (argument, default) in enumerate(zip(names, defaults, strict=True)):
        if at < len(given):
            value = given[at]
        elif argument.arg in named:
            value = named[argument.arg]
        else:
            value = _unfilled(follower, argument, default, is_called=is_called)
        follower.frame.names[argument.arg] = value
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        value = named.get(argument.arg) or _unfilled(follower, argument, default, is_called=is_called)
        follower.frame.names[argument.arg] = value
    for argument in (arguments.vararg, arguments.kwarg):
        if argument is not None:
            follower.frame.names[argument.arg] = follower.made(
                "parameter", argument, argument.arg, label=argument.arg
            )


def _unfilled(follower: "Follower", argument: ast.arg, default: ast.expr | None, *, is_called: bool) -> Value:
    """A parameter that gets no argument: its default where the script calls the function itself."""
    if default is not None and is_called:
        return follower.evaluate(default)
    value = follower.made("parameter", argument, argument.arg, label=argument.arg)
    if default is not None:
        value.keywords["default"] = follower.evaluate(default)
    if isinstance(argument.annotation, ast.Name | ast.Attribute):
        value.fields["<annotation>"] = follower.evaluate(argument.annotation)
    return value
