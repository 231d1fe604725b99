"""The entry point of the command line. `check`, `explain`, `fit` and `--version` bypass typer, whose import is slow."""

import os
import sys

GARBAGE = 50_000
"""Objects between two collections: importing makes many, and none of them is garbage."""


def main() -> None:
    """Runs the command line; exit codes are those of `trimtab.errors`, or tell the signal that ended it."""
    try:
        from trimtab.cli.stop_signals import run_stoppable
    except KeyboardInterrupt:  # before anybody could take it
        os.write(2, b"stopped: by Ctrl-C\n")
        os._exit(130)
    try:
        sys.exit(run_stoppable(_command))
    finally:
        _drop_what_no_log_takes()


def _command() -> int:
    _open_what_is_closed()
    if sys.argv[1:] == ["--version"]:
        from trimtab import __version__
        from trimtab.cli.shell import outcome

        return outcome(lambda: print(f"trimtab {__version__}") or 0)
    if sys.argv[1:2] == ["check"]:
        import gc

        gc.set_threshold(GARBAGE)
        from trimtab.cli.check import run_check

        return run_check(sys.argv[2:])
    if sys.argv[1:2] == ["explain"]:
        from trimtab.cli.explain import is_question, run_explain

        if is_question(sys.argv[2:]):
            return run_explain(sys.argv[2:])
    if sys.argv[1:2] == ["fit"]:
        import gc

        gc.set_threshold(GARBAGE)
        from trimtab.cli.fit_plan import run_plain_fit

        if (code := run_plain_fit(sys.argv[2:])) is not None:
            return code
    from trimtab.cli.app import app
    from trimtab.cli.completion import prepare_completion

    prepare_completion()
    return app()


def _drop_what_no_log_takes() -> None:
    """A log of the terminal on a full disk keeps lines in a buffer, which would be flushed once more at the end and
    turn any exit code into 120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _open_what_is_closed() -> None:
    """Python has no stream where a shell closed one (`>&-`): what goes there goes nowhere, and the exit code tells.
    A result that would go there is refused (`streams`)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
