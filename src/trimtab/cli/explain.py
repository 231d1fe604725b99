"""`trimtab explain`: the page of a rule, or what may be behind a symptom; the words may be a pasted message."""

import sys
from collections.abc import Sequence

from trimtab.cli.shell import outcome


def run_explain(words: Sequence[str]) -> int:
    """Runs the command and gives its exit code. Typer is left out, which alone takes longer than the search."""
    return outcome(lambda: _run([word for word in words if word != "--"]))


def is_question(words: Sequence[str]) -> bool:
    """Whether there is something to look for, dashes in front or not, and not only a wish for help."""
    return bool(words) and words[0] not in ("--help", "-h")


def _run(words: Sequence[str]) -> int:
    from trimtab.checks.say.explain import explanation

    found = explanation(" ".join(words))
    if not found.is_found:
        sys.stderr.write(found.text)
        return 1
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(found.text))
    else:
        sys.stdout.write(found.text)
    return 0
