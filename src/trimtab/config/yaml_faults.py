"""Turns errors of the YAML parser into messages with what was found, what is allowed, and the fix."""

import re
from typing import Final

from trimtab.errors import InputError, input_error

_EXCERPT: Final = 60
"""Characters of the text that a message shows."""


def yaml_fault(problem: str, *, context: str = "", text: str, at: int | None, where: str) -> InputError:
    """The error for what ruamel.yaml calls `problem`, met at a character of the text; None if it names no place."""
    got = excerpt(text, at)
    for pattern, what, allowed, fix in _FAULTS:
        if re.search(pattern, problem) or re.search(pattern, f"{context} {problem}"):
            return input_error(what, got=got, allowed=allowed, fix=fix, where=where)
    words = " ".join(f"{context} {problem}".split())[:300]
    return input_error(
        f"not YAML: {words}",
        got=got,
        allowed="YAML: `key: value`, lists of `- item`, text with special characters in quotes",
        fix="check this line and the one above it: indentation, quotes, brackets",
        where=where,
    )


def excerpt(text: str, at: int | None) -> str:
    """The line around a character; of a long one what begins there."""
    if at is None:
        return "what the parser cannot read"
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:].split("\n", 1)[0].strip("\r\x00 \t")
    if not line:
        return "the end of the file" if not text[at:].strip("\x00 \r\n\t") else "an empty line"
    if len(line) > _EXCERPT:
        rest = text[at : at + _EXCERPT].split("\n", 1)[0].strip("\r\x00 \t")
        line = f"{rest}..." if rest else f"...{line[-_EXCERPT:]}"
    return repr(line)[1:-1]


_FAULTS: Final = (
    (r"character '\\t'", "a tab where YAML needs spaces", "spaces", "indent with spaces"),
    (
        r"mapping (values|keys) are not allowed",
        "a colon or a key where YAML does not allow one",
        "a key at the beginning of a line, with its value after the colon or below it",
        "check the indentation; quote text that contains `: `",
    ),
    (
        r"sequence entries are not allowed",
        "a list item where YAML does not allow one",
        "`- item` on lines of their own, below the key",
        "start a new line before the `-`, or quote the text",
    ),
    (
        r"another document",
        "a second document begins",
        "one document",
        "remove the line `---`, or split the file",
    ),
    (
        r"undefined alias",
        "an alias of something not defined before",
        "an alias `*name` of an anchor `&name` above it",
        "define `&name` first, or quote text that begins with *",
    ),
    (
        r"scanning an alias",
        "an alias without a name",
        "a name of letters and digits after the *",
        "write `*name`, or quote text that begins with *",
    ),
    (
        r"scanning an anchor",
        "an anchor without a name",
        "a name of letters and digits after the &",
        "write `&name`, or quote text that begins with &",
    ),
    (
        r"(parsing|scanning) an? tag|tag handle",
        "a tag that is none of YAML's",
        "plain values",
        "remove the tag, or quote text that begins with !",
    ),
    (
        r"YAML (directive|document)|scanning a directive|TAG directive",
        "a line with % that YAML does not understand",
        "no such line, or `%YAML 1.2` alone",
        "remove the line, or quote text that begins with %",
    ),
    (
        r"scanning a block scalar",
        "text after | or >, which begin a block on the next lines",
        "the text on the lines below, indented",
        "start the text on the next line, or quote it",
    ),
    (
        r"escape",
        "an escape that YAML does not know",
        r"\n, \t, \\ and others of YAML between double quotes",
        r"write \\ for a backslash, or put the text between single quotes",
    ),
    (
        r"unexpected end of stream|unexpected document separator",
        "a quote is opened and not closed",
        "a second quote after the text",
        "close the quote",
    ),
    (
        r"'<stream end>'",
        "a bracket is opened and not closed",
        "as many brackets that close as open",
        "close the bracket",
    ),
    (
        r"cannot start any token",
        "a character that cannot begin a value",
        "a word, a number, a quote or a bracket",
        "quote the text; fill in a template before it is read as YAML",
    ),
    (
        r"expected <block end>|expected '<document start>'",
        "a line that fits no level of indentation",
        "the same indentation as the other keys of its group",
        "indent the keys of one group by the same number of spaces; quote a template such as {name}",
    ),
    (
        r"could not find expected ':'",
        "a key without a colon",
        "a colon and a space after each key",
        "write `key: value`",
    ),
    (
        r"expected the node content|expected ',' or",
        "brackets that YAML does not understand",
        "values separated by commas, and balanced brackets",
        "quote text with brackets, such as a template",
    ),
)
"""What ruamel.yaml says, and what trimtab reports instead: the fault, what is allowed, what to do."""
