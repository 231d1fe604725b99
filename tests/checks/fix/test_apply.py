import pytest

from trimtab.checks.edits import AddKey, RenameKey, SetValue
from trimtab.checks.fix.apply import applied, expected, meaning
from trimtab.checks.fix.tree import CannotMend
from trimtab.checks.place import Place
from trimtab.checks.read.json import read_json
from trimtab.checks.read.python import read_python
from trimtab.checks.read.shell import read_shell
from trimtab.checks.read.yaml import read_yaml


@pytest.mark.parametrize(
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
