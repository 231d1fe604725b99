"""What every command has in common: errors become a message and an exit code, never a traceback."""

import errno
import functools
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from trimtab.errors import InputError, NoRoom, Problem, Terminated, TrimtabError

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
        except BrokenPipeError:  # whoever read the output has seen enough
            _drop_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            if not is_full(error):
                raise
            tell(no_room(error))
            _drop_output()
            raise typer.Exit(NoRoom.exit_code) from None

    return told


def is_full(error: OSError) -> bool:
    """Whether the disk has no room, or the user no more of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def no_room(error: OSError) -> NoRoom:
    """A full disk under something that a command writes itself, such as its output."""
    return NoRoom(
        f"{error.filename or 'the output'}: no room left to write\n"
        f"  got     {error.strerror}\n"
        f"  fix     free some space, or write to another disk"
    )


def _drop_output() -> None:
    """Without this, Python would flush once more at its end, and complain."""
    with suppress(OSError):  # a stand-in of tests has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
