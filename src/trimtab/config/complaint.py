"""What is wrong with a recipe, before it is known where its key is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A problem and the dotted path of its key; the loader adds the file and line."""

    path: str
    what: str
    got: str = ""
    allowed: str = ""
    fix: str = ""
