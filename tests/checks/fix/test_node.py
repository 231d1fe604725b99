import pytest

from tests.for_each import for_each
from trimtab.checks.fix.json import locate
from trimtab.checks.fix.node import find
from trimtab.checks.fix.tree import CannotMend

TEXT = '{"a": 1, "b.c": {"d": [0, {"e": 2}]}, "twice": 1, "twice": 2}'


@for_each(("path", "key"), [("a", '"a"'), ("b.c", '"b.c"'), ("b.c.d", '"d"'), ("b.c.d.1.e", '"e"')])
def test_a_dotted_path_leads_to_its_member(path, key):
    member = find(locate(TEXT), path).member
    assert TEXT[member.start : member.end] == key


@for_each("path", ["z", "b.c.d.5.e", "b.c.d.x", "a.b", "twice"])
def test_a_path_that_is_not_there_or_there_twice_is_refused(path):
    with pytest.raises(CannotMend):
        find(locate(TEXT), path)
