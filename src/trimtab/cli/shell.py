"""What every command has in common: errors become a message and an exit code, never a traceback."""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer

from trimtab.errors import InputError, Problem, Terminated, TrimtabError

TRAIN_EXTRA = frozenset({"torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "jaxtyping"})
"""What `trimtab[train]` installs; `trimtab` alone does without."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 and the number of the signal, as shells count."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, with what goes wrong told on stderr. Errors that nobody foresaw pass through: they are bugs."""

    @functools.wraps(command)
    def told(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except TrimtabError as error:
            tell(error)
            raise typer.Exit(error.exit_code) from None
        except ModuleNotFoundError as error:
            _leave_without(error)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read the output has seen enough. Without this, Python complains once more when it flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None

    return told


def tell(error: TrimtabError) -> None:
    """Every problem of an error on stderr, one after another."""
    word = "stopped" if isinstance(error, Terminated) else "error"
    for problem in error.problems if isinstance(error, InputError) else [error]:
        typer.echo(f"{typer.style(word, fg='red', bold=True)}: {problem}", err=True)


def _leave_without(error: ModuleNotFoundError) -> NoReturn:
    package = (error.name or "").partition(".")[0]
    if package not in TRAIN_EXTRA:
        raise error
    tell(
        InputError(
            Problem(
                what=f"this command needs {package}, which is not installed",
                fix='pip install "trimtab[train]"',
            )
        )
    )
    raise typer.Exit(InputError.exit_code) from None
