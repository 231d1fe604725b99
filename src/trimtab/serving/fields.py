"""Reads the JSON of a request: known keys of the right types; anything else is refused by name."""

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

from trimtab.arguments import described
from trimtab.serving.connection import Request
from trimtab.serving.refused import Refused, refused


def json_object(request: Request) -> dict[str, Any]:
    """The object in the body of a request. Refuses other types of content, bytes that are no UTF-8 or no JSON, and
    JSON that is no object."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise refused(
            415,
            "Content-Type: not JSON",
            got=content_type or "none",
            allowed="application/json",
            fix="send JSON with `Content-Type: application/json`",
        )
    try:
        text = request.body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad_body(
            "the body is not UTF-8", f"byte {request.body[error.start]:02x} at offset {error.start}"
        ) from None
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        got = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _bad_body("the body is not JSON", got) from None
    if not isinstance(value, dict):
        raise _bad_body("the body is not a JSON object", described(value))
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _bad_body(what: str, got: str) -> Refused:
    return refused(
        400, what, got=got or "an empty body", allowed="a JSON object in UTF-8", fix='send {"key": ...}'
    )


class Fields:
    """The keys of an object; a key with null counts as left out."""

    def __init__(
        self, given: Mapping[str, Any], *, known: Collection[str], ignored: Collection[str] = ()
    ) -> None:
        self.given = {name: value for name, value in given.items() if value is not None}
        for name in self.given:
            if name not in known and name not in ignored:
                near = get_close_matches(name, known, n=1)
                raise refused(
                    400,
                    f"{name}: unknown key",
                    got=name,
                    allowed=", ".join(known),
                    fix=f"did you mean {near[0]}?" if near else "leave it out",
                )

    def flag(self, name: str) -> bool:
        """True or false; false by default."""
        value = self.given.get(name, False)
        if not isinstance(value, bool):
            raise _wrong(name, value, "true or false")
        return value

    def text(self, name: str) -> str | None:
        """A string."""
        value = self.given.get(name)
        if value is not None and not isinstance(value, str):
            raise _wrong(name, value, "a string")
        return value

    def texts(self, name: str) -> list[str] | None:
        """A list of strings."""
        value = self.given.get(name)
        if value is not None and not (
            isinstance(value, list) and all(isinstance(each, str) for each in value)
        ):
            raise _wrong(name, value, "a list of strings")
        return value

    def text_or_texts(self, name: str) -> list[str] | None:
        """A string, or a list of them."""
        value = self.given.get(name)
        if isinstance(value, str):
            return [value]
        if value is not None and not (
            isinstance(value, list) and all(isinstance(each, str) for each in value)
        ):
            raise _wrong(name, value, "a string, or a list of strings")
        return value

    def whole(self, name: str) -> int | None:
        """A whole number."""
        value = self.given.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise _wrong(name, value, "a whole number")
        return value

    def number(self, name: str) -> float | None:
        """A number."""
        value = self.given.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise _wrong(name, value, "a number")
        try:
            return None if value is None else float(value)
        except OverflowError:
            raise _wrong(name, "a number beyond all floats", "a number") from None

    def one_of(self, *names: str) -> str:
        """Which one of these keys is there; refuses none and several."""
        found = [name for name in names if name in self.given]
        if len(found) != 1:
            raise refused(
                400,
                f"{' or '.join(names)}: one of them is needed",
                got=" and ".join(found) or "none",
                allowed=f"exactly one of {', '.join(names)}",
                fix=f"give `{names[0]}`",
            )
        return found[0]


def _wrong(name: str, value: Any, allowed: str) -> Refused:
    got = value if isinstance(value, str) and value.startswith("a number beyond") else described(value)
    return refused(400, f"{name}: is of another type", got=got, allowed=allowed, fix=f"give {allowed}")
