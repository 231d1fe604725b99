import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.checks.fix.written import leaves, trees
from tests.for_each import for_each
from trimtab.checks.fix.node import find
from trimtab.checks.fix.tree import CannotMend, same
from trimtab.checks.fix.yaml import locate, properties, write, write_key
from trimtab.checks.read.yaml import read_yaml

TEXT = """\
# top
anchored: &x 1   # kept
block:
  - text: |
      one
      two

    # aside
    after: 2
  - last
empty:
alias: *x
flow: {a: 1, "b": [c, *x]}
folded: plain
  over lines  # end
"""


def value_of(path):
    value = find(locate(TEXT), path).member.value
    return TEXT[value.start : value.end]


@for_each(
    ("path", "text"),
    [
        ("anchored", "&x 1"),
        ("block.0.text", "|\n      one\n      two"),
        ("block.0.after", "2"),
        ("block", TEXT[TEXT.index("- text") : TEXT.index("last") + 4]),
        ("empty", ""),
        ("alias", "*x"),
        ("flow", '{a: 1, "b": [c, *x]}'),
        ("flow.b", "[c, *x]"),
        ("folded", "plain\n  over lines"),
    ],
)
def test_a_value_ends_where_its_last_character_does(path, text):
    assert value_of(path) == text


def test_the_anchor_of_a_value_is_told_from_the_value():
    value = find(locate(TEXT), "anchored").member.value
    assert properties(TEXT, value) == "&x "
    assert properties(TEXT, find(locate(TEXT), "block.0.after").member.value) == ""


@for_each("text", ["", "a: 1\n---\nb: 2\n", "a: [1", "? [a]\n: 1\n"])
def test_what_is_not_one_plain_document_is_left_alone(text):
    with pytest.raises(CannotMend):
        locate(text)


@given(st.one_of(leaves, st.lists(leaves, max_size=3), trees))
def test_what_is_written_is_read_as_the_same_by_every_dialect(value):
    text = f"key: {write(value)}\n"
    for dialect in ("pyyaml", "yaml12"):
        assert same(read_yaml("a.yaml", text, dialect=dialect).tree, {"key": value}), text


def test_numbers_are_numbers_to_yaml_1_1_too():
    assert [write(number) for number in (1e-05, 1e16, 2.0, float("inf"), -float("inf"))] == [
        "1.0e-05", "1.0e+16", "2.0", ".inf", "-.inf",
    ]  # fmt: skip
    assert write(float("nan")) == ".nan"


@for_each("word", ["no", "On", "null", "1e-4", "012", "a: b", "", "~", "- a"])
def test_text_that_could_be_taken_for_something_else_is_quoted(word):
    assert write_key(word).startswith('"')
    assert YAML(typ="safe", pure=True).load(write_key(word)) == word
