"""A request that gets an error in place of an answer."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.errors import Problem, one_line, shortened

NAMES = {
    400: "invalid_request_error",
    403: "permission_error",
    404: "not_found_error",
    429: "overloaded_error",
    503: "overloaded_error",
    504: "timeout_error",
}
"""What clients of OpenAI's interface sort errors by."""
MOST_PROBLEMS = 20
_KEY = re.compile(r"(?P<key>[a-z_]+): ")


class Refused(Exception):
    """Ends a request with this status; the body says what was wrong, got, allowed, and what to do."""

    def __init__(self, status: int, *problems: Problem, headers: Mapping[str, str] | None = None) -> None:
        assert problems
        super().__init__(f"{status}: {problems[0].what}")
        self.status, self.problems, self.headers = status, problems, dict(headers or {})

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        return error_object(self.status, self.problems)


def refused(
    status: int, what: str, *, got: str, allowed: str, fix: str, headers: Mapping[str, str] | None = None
) -> Refused:
    """A Refused of one problem."""
    return Refused(status, Problem(what=what, got=got, allowed=allowed, fix=fix), headers=headers)


def error_object(status: int, problems: Sequence[Problem]) -> dict[str, Any]:
    """`{"error": {"message", "type", "param", "code", "what", "got", "allowed", "fix"}}`, and `problems` for more than
    one; `param` is the key that is wrong, as OpenAI's interface names it, or null."""
    found = [_plain(problem) for problem in problems[:MOST_PROBLEMS]]
    first = found[0]
    message = "; ".join(
        [first["what"], *(f"{name} {first[name]}" for name in ("got", "allowed", "fix") if first[name])]
    )
    kind = NAMES.get(status, NAMES[400] if status < 500 else "server_error")
    key = _KEY.match(problems[0].what)
    param = key["key"] if key else None
    error = {"message": message, "type": kind, "param": param, "code": status, **first}
    return {"error": error | ({"problems": found} if len(found) > 1 else {})}


def _plain(problem: Problem) -> dict[str, str]:
    named = {"what": problem.what, "got": problem.got, "allowed": problem.allowed, "fix": problem.fix}
    return {name: one_line(shortened(text)) for name, text in named.items()}


def json_bytes(value: Any) -> bytes:
    """JSON in UTF-8; half characters, which UTF-8 does not have, stay as JSON spells them."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
