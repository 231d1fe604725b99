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
        "a colon or a key in a place where none can be",
        "a key at the beginning of a line, with its value behind the colon or below it",
        "check the indentation; put text with `: ` in it between quotes",
    ),
    (
        r"sequence entries are not allowed",
        "an item of a list in a place where none can be",
        "`- item` on lines of their own, below the key",
        "begin a new line before the `-`, or put the text between quotes",
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
        "an alias `*name` of what stands above as `&name`",
        "define `&name` first, or put text that begins with * between quotes",
    ),
    (
        r"scanning an alias",
        "an alias without a name",
        "a name of letters and digits behind the *",
        "write `*name`, or put text that begins with * between quotes",
    ),
    (
        r"scanning an anchor",
        "an anchor without a name",
        "a name of letters and digits behind the &",
        "write `&name`, or put text that begins with & between quotes",
    ),
    (
        r"(parsing|scanning) an? tag|tag handle",
        "a tag that is none of YAML's",
        "plain values",
        "remove the tag, or put text that begins with ! between quotes",
    ),
    (
        r"YAML (directive|document)|scanning a directive|TAG directive",
        "a line with % that YAML does not understand",
        "no such line, or `%YAML 1.2` alone",
        "remove the line, or put text that begins with % between quotes",
    ),
    (
        r"scanning a block scalar",
        "text behind | or >, which announce text on the lines below",
        "the text on the lines below, indented",
        "begin the text on the next line, or put it between quotes",
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
        "a second quote behind the text",
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
        "put the text between quotes; a template has to be filled in before it is YAML",
    ),
    (
        r"expected <block end>|expected '<document start>'",
        "a line that fits no level of indentation",
        "as many spaces as another key of its group has",
        "indent the keys of one group by the same number of spaces; put a template such as {name} between quotes",
    ),
    (
        r"could not find expected ':'",
        "a key without a colon",
        "a colon and a space behind each key",
        "write `key: value`",
    ),
    (
        r"expected the node content|expected ',' or",
        "brackets that YAML does not understand",
        "values with a comma between each two, and as many brackets that close as open",
        "put text with brackets, such as a template, between quotes",
    ),
)
"""What ruamel.yaml says, and what trimtab reports instead: the fault, what is allowed, what to do."""
