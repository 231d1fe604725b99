"""`trimtab completion`: a script by which a shell completes commands, options and recipe keys."""

import os
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

NAME, VARIABLE = "trimtab", "_TRIMTAB_COMPLETE"
BASH = """\
_trimtab_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
                  _TRIMTAB_COMPLETE=complete_bash "$1" 2> /dev/null) )
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}

complete -o default -F _trimtab_completion trimtab"""
"""Unlike typer's it leaves no space after a recipe key, whose value follows."""
ZSH = """\
#compdef trimtab

_trimtab_completion() {
    local told="$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _TRIMTAB_COMPLETE=complete_zsh trimtab 2> /dev/null)"
    if [[ $told == *'="'* ]]; then
        local -a keys
        keys=(${(f)"$(env COMP_WORDS="${(j: :)words}" COMP_CWORD=$((CURRENT - 1)) \\
                      _TRIMTAB_COMPLETE=complete_bash trimtab 2> /dev/null)"})
        compadd -S '' -a keys
    else
        eval $told
    fi
}

compdef _trimtab_completion trimtab"""
"""The same."""


class Shell(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="The shell to complete in.")],
) -> None:
    """Print a script that completes commands, options and recipe keys in a shell.

    Put the line of the first two examples into ~/.bashrc or ~/.zshrc (after `compinit`), or run the third once.
    """
    typer.echo(script_for(shell))


def script_for(shell: Shell) -> str:
    """The script of a shell: it asks trimtab itself at each press of the tab key, so it never goes out of date."""
    if shell is not Shell.FISH:  # which leaves no space after an equals sign anyway
        return BASH if shell is Shell.BASH else ZSH
    return str(_of_typer("get_completion_script")(prog_name=NAME, complete_var=VARIABLE, shell=shell.value))


def prepare_completion() -> None:
    """Where a shell asks, makes typer answer in the way that its scripts expect."""
    if VARIABLE in os.environ:
        _of_typer("completion_init")()


def _of_typer(name: str) -> Callable[..., Any]:
    """What `add_completion` of typer calls, which typer does not declare as a name of that module."""
    from typer import completion as of_typer

    return vars(of_typer)[name]


def recipe_keys(incomplete: str) -> list[str]:
    """Recipe keys that begin so, each up to its value; for the next part of the key where many begin so."""
    from trimtab.config.places import known_keys  # late: it loads the recipe's settings

    keys = [key for key in known_keys() if key.startswith(incomplete)]
    groups = {key for key in keys if any(other.startswith(f"{key}.") for other in keys)}
    return [f"{key}=" for key in keys if key not in groups]
