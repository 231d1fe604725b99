import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.fix.written import json_texts, paths, trees
from tests.for_each import for_each
from trimtab.checks.fix.json import locate, write, write_key
from trimtab.checks.fix.node import find
from trimtab.checks.fix.tree import CannotMend


@given(st.data())
def test_every_value_is_found_where_it_stands(data):
    tree = data.draw(trees)
    text = data.draw(json_texts(tree))
    root = locate(text)
    assert json.loads(text[root.start : root.end]) == tree
    for path in paths(tree):
        member = find(root, path).member
        assert json.loads(text[member.start : member.end]) == member.name
        json.loads(text[member.value.start : member.value.end])


@for_each("text", ["", "{", '{"a": ', "[" * 100_000])
def test_what_is_no_json_is_left_alone(text):
    with pytest.raises(CannotMend):
        locate(text)


def test_values_are_written_as_json():
    assert [write(value) for value in (1e-05, True, None, "ü", [1])] == [
        "1e-05",
        "true",
        "null",
        '"ü"',
        "[1]",
    ]
    assert write_key("a b") == '"a b"'
