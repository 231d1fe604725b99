"""The command line's door. `check` has one of its own, because it starts in a blink and typer does not."""

import sys

GARBAGE = 50_000
"""Objects between two collections: importing makes many, and none of them is garbage."""


def main() -> None:
    """Runs the command line; exit codes are those of `trimtab.errors`."""
    if sys.argv[1:2] == ["check"]:
        import gc

        gc.set_threshold(GARBAGE)
        from trimtab.cli.check import run_check

        sys.exit(run_check(sys.argv[2:]))
    from trimtab.cli.app import app

    app()
