"""What to say of a file that is no configuration of any known tool."""

from itertools import islice
from typing import cast

from trimtab.checks.document import Document
from trimtab.checks.kinds.nmt.programs import program_of
from trimtab.checks.kinds.registry import kinds_of
from trimtab.errors import Problem

NOT_READ = {
    "fairseq": "fairseq",
    "marian": "Marian",
    "sockeye": "Sockeye",
    "joeynmt": "JoeyNMT",
    "t2t-": "tensor2tensor",
}
"""Beginnings of commands and modules, and the tool they belong to, of which nothing is read here; of the first three
only what trains, prepares data, or is `marian-decoder` is read."""
LAUNCHED = (
    "launch lines of transformers' Trainer, TRL, LLaMA-Factory, Axolotl, Marian, Sockeye, fairseq, Accelerate, "
    "torchrun or DeepSpeed"
)
SHOWN = 4
"""Keys or commands that a message names."""
LONGEST = 40
"""Characters of each."""


def unrecognised(document: Document) -> Problem:
    """A problem for a file that was named, and that nobody knows."""
    tool = tool_not_read(document)
    return Problem(
        what=f"{document.path}: "
        + (f"of {tool}, which is not supported" if tool else "not a configuration that trimtab knows"),
        got=what_is_there(document),
        allowed=what_may_be(document),
        fix="`--ignore-unknown` passes over it"
        if tool
        else "give its kind with `--as KIND`, or skip such files with `--ignore-unknown`",
        where=document.path,
    )


def tool_not_read(document: Document) -> str:
    """A tool whose launch this is, and whose options nobody here knows; empty if there is no such sign."""
    for call in document.calls if document.syntax == "shell" else ():
        if program_of(call):
            continue
        for part in (call.name, call.qualifier):
            for beginning, tool in NOT_READ.items():
                if part.startswith(beginning):
                    return tool
    return ""


def what_is_there(document: Document) -> str:
    """What a file holds, in a few words."""
    if document.syntax == "shell":
        names = _some([call.name for call in document.calls])
        return f"only {names}" if names else "no command that starts a training"
    if document.syntax == "python":
        return "a script" if document.text.strip() else "nothing"
    tree: object = document.tree
    match tree:
        case dict():
            names = _some(list(map(str, cast("dict[object, object]", tree))))
            return f"only {names}" if names else "no keys"
        case None:
            return "nothing"
        case list():
            return "a list"
        case bool() | int() | float():
            return "a number or a word, no keys"
        case _:
            return "text, no keys"


def what_may_be(document: Document) -> str:
    """The kinds that a file of this syntax may be, by their titles."""
    if document.syntax == "shell":
        return LAUNCHED
    return ", ".join(kind.title for kind in kinds_of(document.syntax))


def _some(names: list[str]) -> str:
    named = [f"`{name[:LONGEST]}`" for name in islice(dict.fromkeys(names), SHOWN)]
    return ", ".join(named) + ", ..." * (len(set(names)) > SHOWN)
