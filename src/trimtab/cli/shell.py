"""What every command has in common: errors become a message and an exit code, never a traceback."""

import errno
import functools
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from trimtab.errors import (
    DiskFull,
    InputError,
    Problem,
    RunFailed,
    Terminated,
    TrimtabError,
    is_out_of_gpu_memory,
    is_out_of_memory,
    ran_out,
    unreadable,
)

TRAIN_EXTRA = frozenset({"torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "jaxtyping", "h11"})
"""What `trimtab[train]` installs; `trimtab` alone does without."""
MOST_SHOWN = 20
"""How many problems of one error are shown; the others are counted."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 and the number of the signal, as shells count."""
NONE: Mapping[str, Any] = {}
SMALLER = {"beam": 4, "candidates": 32, "samples": 1, "count": 8, "batch_tokens": 2048}
"""Options with which a command needs less memory, and what they are about where they are not given."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The same command for typer, with what goes wrong told on stderr."""

    @functools.wraps(command)
    def told(*args: Any, **kwargs: Any) -> None:
        import typer

        if code := outcome(lambda: command(*args, **kwargs), kwargs):
            raise typer.Exit(code)

    return told


def outcome(command: Callable[[], int | None], options: Mapping[str, Any] = NONE) -> int:
    """Runs a command and gives its exit code; errors are reported on stderr, for want of memory with which of its
    `options` it needs less.

    Errors that nobody foresaw pass through: they are bugs.
    """
    try:
        code = command()
        sys.stdout.flush()
        return code or 0
    except TrimtabError as error:
        tell(error)
        return error.exit_code
    except ModuleNotFoundError as error:
        return _leave_without(error)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        tell(RunFailed(f"memory ran out: {ran_out(error)}\n  fix     {smaller(error, options)}"))
        return RunFailed.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        if isinstance(error, PermissionError) and error.filename is not None:
            tell(unreadable(error, os.fsdecode(error.filename)))
            return InputError.exit_code
        if not is_full(error):
            raise
        tell(disk_full(error))
        _drop_output()
        return DiskFull.exit_code


def smaller(error: BaseException, options: Mapping[str, Any]) -> str:
    """How a command with these options, by name, needs less of the memory that ran out."""
    if "recipe" in options:
        return "take the settings that `trimtab fit` proposes for the recipe"
    known = {name: options[name] or usual for name, usual in SMALLER.items() if name in options}
    ways = [
        f"pass --{name.replace('_', '-')} {value // 2}"
        for name, value in known.items()
        if isinstance(value, int) and value > 1
    ]
    if not is_out_of_gpu_memory(error) or options.get("device") == "cpu":
        ways.append("end other programs that use the memory of this machine")
    elif "device" in options:
        ways.append("compute on the CPU with --device cpu")
    else:
        ways.append("compute on the CPU: CUDA_VISIBLE_DEVICES= before the command")
    return ", or ".join(ways)


def is_full(error: OSError) -> bool:
    """Whether the disk has no room, or the user no more of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def disk_full(error: OSError) -> DiskFull:
    """A full disk under something that a command writes itself, such as its output."""
    return DiskFull(
        f"{error.filename or 'the output'}: no space left to write\n"
        f"  got     {error.strerror}\n"
        f"  fix     free some space, or write to another disk"
    )


def _drop_output() -> None:
    """Without this, Python would flush once more at its end, and complain."""
    with suppress(OSError):  # a stand-in of tests has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(error: TrimtabError) -> None:
    """The problems of an error on stderr, one after another, and how many more there are."""
    word = "stopped" if isinstance(error, Terminated) else "error"
    shown = f"\x1b[31;1m{word}\x1b[0m" if sys.stderr.isatty() else word
    problems = error.problems if isinstance(error, InputError) else [error]
    for problem in problems[:MOST_SHOWN]:
        print(f"{shown}: {problem}", file=sys.stderr)
    if (more := len(problems) - MOST_SHOWN) > 0:
        print(f"{shown}: and {more:,} more, not shown", file=sys.stderr)


def _leave_without(error: ModuleNotFoundError) -> int:
    package = (error.name or "").partition(".")[0]
    if package not in TRAIN_EXTRA:
        raise error
    what = f"this command needs {package}, which is not installed"
    tell(InputError(Problem(what=what, fix='pip install "trimtab[train]"')))
    return InputError.exit_code
