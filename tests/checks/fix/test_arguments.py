import pytest

from trimtab.checks.edits import AddKey, SetValue
from trimtab.checks.fix.arguments import argument, offset, target
from trimtab.checks.fix.tree import CannotMend
from trimtab.checks.place import Place
from trimtab.checks.read.python import read_python

DOCUMENT = read_python("a.py", "f(x=1)\nf(x=2)\nf(y=3)\n")


@pytest.mark.parametrize(("line", "value"), [(1, 1), (2, 2), (3, 2)])
def test_the_call_at_or_before_the_finding_is_meant(line, value):
    _, entry = target(DOCUMENT, SetValue("x", 0), Place("a.py", line, 3))
    assert entry.value == value


def test_a_key_that_only_one_call_has_needs_no_place():
    call, entry = target(DOCUMENT, AddKey("z", 0, after="y"), Place("a.py"))
    assert (call.place.line, entry.value) == (3, 3)


def test_what_is_not_there_and_what_is_before_all_calls_is_refused():
    with pytest.raises(CannotMend, match="not written"):
        target(DOCUMENT, SetValue("z", 0), Place("a.py"))
    with pytest.raises(CannotMend, match="several calls"):
        target(DOCUMENT, SetValue("x", 0), Place("a.py", 0, 0))


def test_an_argument_is_found_by_the_last_part_of_a_dotted_key():
    assert argument(DOCUMENT.calls[0], "TrainingArguments.x").value == 1
    assert argument(DOCUMENT.calls[0], "z") is None


def test_lines_and_columns_are_counted_from_one():
    assert "ab\ncd"[offset("ab\ncd", 2, 2)] == "d"
