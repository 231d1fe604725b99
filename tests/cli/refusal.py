"""What a refused command must look like: its exit code, its message, no traceback."""

import re

from trimtab.errors import InputError


def refused(result, *words, code=InputError.exit_code):
    """The message of a command that was refused, in one piece; it names these words."""
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    message = result.stderr[result.stderr.index("error: ") :]
    for word in words:
        assert word in message
    return message


def has_four_parts(message):
    """Every problem says what is wrong, what was got, what is allowed and what to do."""
    problems = re.split(r"^error: ", message, flags=re.MULTILINE)[1:]
    return all(re.search(r"^.+\n  got .+\n  allowed .+\n  fix .+", problem) for problem in problems)
