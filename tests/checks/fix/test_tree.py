import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.fix.written import edits, trees
from tests.for_each import for_each
from trimtab.checks.edits import AddKey, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.tree import CannotMend, added_name, edited, new_name, same, splits

TREE = {"a": 1, "b": {"c": [1, {"d": 2}], "x.y": 3}}


@for_each(
    ("edit", "expected"),
    [
        (SetValue("a", 2.5), {"a": 2.5, "b": {"c": [1, {"d": 2}], "x.y": 3}}),
        (SetValue("b.c.1.d", None), {"a": 1, "b": {"c": [1, {"d": None}], "x.y": 3}}),
        (RenameKey("a", "z"), {"z": 1, "b": {"c": [1, {"d": 2}], "x.y": 3}}),
        (RenameKey("b.c", "b.z"), {"a": 1, "b": {"z": [1, {"d": 2}], "x.y": 3}}),
        (RemoveKey("b.x.y"), {"a": 1, "b": {"c": [1, {"d": 2}]}}),
        (AddKey("n", True, after="a"), {"a": 1, "n": True, "b": {"c": [1, {"d": 2}], "x.y": 3}}),
        (AddKey("b.n", 0, after="b.c"), {"a": 1, "b": {"c": [1, {"d": 2}], "n": 0, "x.y": 3}}),
    ],
)
def test_an_edit_means_one_change_of_the_tree(edit, expected):
    before = {"a": 1, "b": {"c": [1, {"d": 2}], "x.y": 3}}
    assert same(edited(before, edit), expected)
    assert before == TREE


@for_each(
    "edit",
    [
        SetValue("z", 1),
        SetValue("b.c.7.d", 1),
        SetValue("b.c.0", 1),
        RenameKey("a", "b"),
        AddKey("a", 1, after="b"),
        RemoveKey("a.b"),
    ],
)
def test_an_edit_without_a_meaning_is_refused(edit):
    with pytest.raises(CannotMend):
        edited(TREE, edit)


@given(st.data())
def test_an_edit_keeps_all_other_keys_and_their_order(data):
    tree = data.draw(trees)
    edit = data.draw(edits(tree))
    touched = {edit.key.partition(".")[0], getattr(edit, "name", "")}
    kept = [key for key in tree if key not in touched]
    assert [key for key in edited(tree, edit) if key in kept] == kept


def test_same_is_strict_where_python_is_not():
    assert same({"a": [1.0, math.nan]}, {"a": [1.0, math.nan]})
    assert not same(1, True)
    assert not same(1, 1.0)
    assert not same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same([1], [1, 2])


def test_names_are_told_without_the_path_of_their_mapping():
    assert new_name(RenameKey("training.optim", "training.optimizer")) == "optimizer"
    assert new_name(RenameKey("training.optim", "optimizer")) == "optimizer"
    assert added_name(AddKey("training.warmup", 1, after="training.steps")) == "warmup"


def test_a_dotted_path_may_begin_with_a_key_that_holds_a_dot():
    assert [first for first, _ in splits(["a", "b", "c"])] == ["a", "a.b", "a.b.c"]
