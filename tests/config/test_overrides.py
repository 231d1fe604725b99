import pytest

from tests.for_each import for_each
from trimtab.config.overrides import apply_overrides
from trimtab.errors import InputError

TREE = {"data": {"train": [{"source": "a"}, {"source": "b"}]}, "length": "10 steps"}


def put(*overrides: str):
    return apply_overrides(TREE, overrides)[0]


def problems(*overrides: str):
    with pytest.raises(InputError) as raised:
        apply_overrides(TREE, overrides)
    return raised.value.problems


def test_values_are_read_as_yaml():
    tree = put(
        "a=1", "b=3e-4", "c=no", "d=[x, y]", "e={kind: off}", "f=", "g='1'", "h=true", "i=500 steps", "j=x=y"
    )
    assert {key: tree[key] for key in "abcdefghij"} == {
        "a": 1, "b": 3e-4, "c": "no", "d": ["x", "y"], "e": {"kind": "off"}, "f": None, "g": "1", "h": True,
        "i": "500 steps", "j": "x=y",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["-", " - ", "'-'"])
def test_a_dash_alone_is_text(text):
    assert put(f"data.train.0.source={text}")["data"]["train"][0]["source"] == "-"
    assert put("a=- 1")["a"] == [1]


def test_groups_on_the_way_are_made_and_items_are_counted_from_0():
    tree = put("step.optimizer.learning_rate=1", "data.train.1.weight=2")
    assert tree["step"] == {"optimizer": {"learning_rate": 1}}
    assert tree["data"]["train"] == [{"source": "a"}, {"source": "b", "weight": 2}]


def test_the_tree_that_was_given_is_not_changed():
    put("data.train.0.source=z")
    assert TREE["data"]["train"][0]["source"] == "a"


def test_the_last_override_of_a_key_wins():
    assert put("length=1 steps", "length=2 steps")["length"] == "2 steps"


def test_each_override_is_remembered_with_where_it_came_from():
    assert apply_overrides(TREE, ("length=2 steps",))[1] == {"length": "command line: length=2 steps"}


@for_each("text", ["length", "=3", ".a=3", "a.=3", "a..b=3", "", "--flag"])
def test_what_is_not_key_and_value_is_refused(text):
    (found,) = problems(text)
    assert (found.what, found.got, found.allowed) == ("not an override", repr(text), "KEY=VALUE")


def test_an_item_that_is_not_there_is_refused_with_those_that_are():
    (found,) = problems("data.train.2.weight=1")
    assert (found.what, found.allowed) == ("data.train.2: no such item", "0 to 1, the items of the list")
    assert problems("data.train.first.weight=1")[0].got == "'first'"


def test_a_path_through_a_plain_value_is_refused():
    (found,) = problems("length.steps=3")
    assert (found.what, found.got) == ("length: not a group of keys", "'10 steps'")


def test_a_value_that_is_not_yaml_is_refused_with_the_override():
    (found,) = problems("a=[1")
    assert (found.what, found.where) == ("a bracket is opened and not closed", "command line: a=[1")


def test_all_wrong_overrides_are_reported_at_once():
    assert len(problems("length", "a=[1", "length.x=1", "seed=1")) == 3
