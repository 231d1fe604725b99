"""Edits of the mappings of YAML and JSON, in characters."""

import re
from types import ModuleType

from trimtab.checks.edits import AddKey, Edit, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix import yaml
from trimtab.checks.fix.node import Found, Member, find
from trimtab.checks.fix.tree import CannotMend, added_name, new_name
from trimtab.checks.record import record

_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r?\n|\Z)")
_TO_NEXT_WORD = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r?\n[ \t]*)*")
_COMMA = re.compile(r"\s*,")
_COMMA_AND_SPACE = re.compile(r"\s*,[ \t]*(?:\r?\n[ \t]*)?")
_PLAIN_GAP = re.compile(r"\s*,\s*")


@record
class Cut:
    """`text[start:end]` gives way to `new`."""

    start: int
    end: int
    new: str = ""

    def applied(self, text: str) -> str:
        """The text with the cut made."""
        return text[: self.start] + self.new + text[self.end :]


def edit_mapping(text: str, edit: Edit, syntax: ModuleType) -> str:
    """The text with one edit made; `syntax` is the module of YAML or JSON beside this one."""
    found = find(syntax.locate(text), edit.after if isinstance(edit, AddKey) else edit.key)
    member = found.member
    match edit:
        case SetValue():
            cut = _set(text, member, syntax.write(edit.value))
        case RenameKey():
            cut = Cut(member.start, member.end, syntax.write_key(new_name(edit)))
        case RemoveKey():
            cut = (
                _remove_between_commas(text, found) if found.mapping.bracketed else _remove_line(text, found)
            )
        case AddKey():
            key, value = syntax.write_key(added_name(edit)), syntax.write(edit.value)
            cut = (
                _add_between_commas(text, found, key, value)
                if found.mapping.bracketed
                else _add_line(text, member, f"{key}: {value}")
            )
    return cut.applied(text)


def _set(text: str, member: Member, written: str) -> Cut:
    value = member.value
    if value.start == value.end:  # `key:` with nothing behind it
        return Cut(value.start, value.end, " " + written)
    kept = yaml.properties(text, value)
    colon, gap = member.end, text[member.end : value.start]
    if "\n" in gap and ":" in gap.partition("#")[0]:
        # A block begins in a later line; a value on one line does not, and the comments between stay.
        colon += gap.index(":") + 1
        return Cut(colon, value.end, f" {kept}{written}{text[colon : value.start].rstrip()}")
    return Cut(value.start, value.end, kept + written)


def _remove_line(text: str, found: Found) -> Cut:
    member = found.member
    if len(found.mapping.members) == 1:
        return Cut(member.start, member.value.end, "{}")
    end = member.value.end
    begin = _line_start(text, member.start)
    if text[begin : member.start].strip():  # behind a dash: what follows moves up to it
        rest = _TO_NEXT_WORD.match(text, end)
        return Cut(member.start, rest.end() if rest else end)
    rest = _REST_OF_LINE.match(text, end)
    if rest is None:
        raise CannotMend("something else is on the same line")
    if rest.end() == len(text) and not text.endswith(
        "\n"
    ):  # the line before is the last now, and ends as this did
        begin = len(text[:begin].rstrip("\r\n"))
    return Cut(begin, rest.end())


def _add_line(text: str, member: Member, line: str) -> Cut:
    indent = " " * (member.start - _line_start(text, member.start))
    newline = newline_of(text)
    rest = _REST_OF_LINE.match(text, member.value.end)
    if rest is None:
        raise CannotMend("something else is on the same line")
    if text[: rest.end()].endswith("\n"):
        return Cut(rest.end(), rest.end(), indent + line + newline)
    return Cut(rest.end(), rest.end(), newline + indent + line)


def _remove_between_commas(text: str, found: Found) -> Cut:
    member, members = found.member, found.mapping.members
    if len(members) == 1:
        comma = _COMMA.match(text, member.value.end)
        end = comma.end() if comma else member.value.end
        inner = text[found.mapping.start + 1 : member.start] + text[end : found.mapping.end - 1]
        if not inner.strip():
            return Cut(found.mapping.start, found.mapping.end, "{}")
        return Cut(member.start, end)
    if found.index < len(members) - 1:
        comma = _COMMA_AND_SPACE.match(text, member.value.end)
        if comma is None:
            raise CannotMend("a comment comes before the comma")
        return Cut(member.start, comma.end())
    before = members[found.index - 1].value.end
    if _PLAIN_GAP.fullmatch(text, before, member.start):
        return Cut(before, member.value.end)
    return Cut(member.start, member.value.end)


def _add_between_commas(text: str, found: Found, key: str, value: str) -> Cut:
    member = found.member
    begin = _line_start(text, member.start)
    indent = text[begin : member.start]
    colon = text[member.end : member.value.start] if member.value.kind == "leaf" else ": "
    written = key + (colon if ":" in colon and "\n" not in colon else ": ") + value
    end = member.value.end
    if indent.strip() or (begin == 0 and not indent):  # several in one line
        return Cut(end, end, ", " + written)
    comma = _COMMA.match(text, end)
    rest = _REST_OF_LINE.match(text, comma.end()) if comma else None
    if comma and rest and rest.end() < len(text):  # behind the comment that belongs to `after`
        return Cut(rest.end(), rest.end(), f"{indent}{written},{newline_of(text)}")
    return Cut(end, end, f",{newline_of(text)}{indent}{written}")


def newline_of(text: str) -> str:
    """How lines end in this text."""
    return "\r\n" if "\r\n" in text else "\n"


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1
