import pytest

from tests.for_each import for_each
from trimtab.checks.edits import AddKey, RenameKey, SetValue
from trimtab.checks.fix.apply import applied, expected, meaning
from trimtab.checks.fix.tree import CannotMend
from trimtab.checks.place import Place
from trimtab.checks.read.json import read_json
from trimtab.checks.read.python import read_python
from trimtab.checks.read.shell import read_shell
from trimtab.checks.read.yaml import read_yaml


@for_each(
    ("read", "name", "before", "after"),
    [
        (read_yaml, "a.yaml", "lr: 1\n", "lr: 2\n"),
        (read_json, "a.json", '{"lr": 1}', '{"lr": 2}'),
        (read_python, "a.py", "f(lr=1)", "f(lr=2)"),
        (read_shell, "a.sh", "torchrun a.py --lr 1", "torchrun a.py --lr 2"),
    ],
)
def test_every_syntax_has_its_own_way(read, name, before, after):
    document, at = read(name, before), Place(name)
    assert applied(before, document, SetValue("lr", 2), at) == after
    assert expected(document, SetValue("lr", 2), at) == meaning(read(name, after))


def test_notebooks_are_left_alone():
    document = read_python("a.ipynb", "f(lr=1)")
    with pytest.raises(CannotMend, match="notebook"):
        applied(document.text, document, SetValue("lr", 2), Place("a.ipynb"))


def test_an_argument_of_a_name_that_is_taken_is_refused():
    document = read_python("a.py", "f(lr=1, rate=2)")
    for edit in (RenameKey("lr", "rate"), AddKey("rate", 3, after="lr")):
        with pytest.raises(CannotMend):
            expected(document, edit, Place("a.py"))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("kw = dict(lr=1)\nf(**kw)\n", "kw = dict(rate=1)\nf(**kw)\n"),
        ("f(lr=1)\ng(lr=1)\n", "f(rate=1)\ng(lr=1)\n"),
    ],
)
def test_an_argument_that_a_call_takes_from_a_dict_changes_in_both(text, after):
    document, edit = read_python("a.py", text), RenameKey("lr", "rate")
    at = document.calls[0].arguments["lr"].place
    assert applied(text, document, edit, at) == after
    assert expected(document, edit, at) == meaning(read_python("a.py", after))


def test_what_several_calls_take_or_a_literal_holds_is_left_with_its_line():
    edit = RenameKey("lr", "rate")
    shared = read_python("a.py", "\nkw = dict(lr=1)\nf(**kw)\ng(**kw)\n")
    with pytest.raises(CannotMend, match="line 2"):
        expected(shared, edit, shared.calls[0].arguments["lr"].place)
    literal = read_python("a.py", "\nkw = {'lr': 1}\nTrainingArguments(**kw)\n")
    with pytest.raises(CannotMend, match="change line 2 by hand"):
        applied(literal.text, literal, edit, literal.calls[0].arguments["lr"].place)
