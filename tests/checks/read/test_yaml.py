import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.checks.document import Document
from trimtab.checks.read.yaml import read_yaml
from trimtab.errors import InputError

KEYS = st.text(alphabet="abcXYZ_09é", min_size=1, max_size=6).map(lambda text: "k" + text)
LEAVES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=10,
    ),
    max_size=5,
)


def block(tree: dict[str, Any], depth: int = 0) -> str:
    """The tree in block style, its values as JSON: every line `key: value` or `key:`."""
    lines = ""
    for key, value in tree.items():
        lines += " " * depth + key + ":"
        is_block = isinstance(value, dict) and value
        lines += "\n" + block(value, depth + 2) if is_block else f" {json.dumps(value)}\n"
    return lines


def at(document: Document, line: int, column: int, length: int) -> str:
    return document.text.split("\n")[line - 1][column - 1 : column - 1 + length]


@given(TREES)
def test_every_key_is_found_where_it_stands_and_every_value_comes_back(tree: dict[str, Any]):
    document = read_yaml("f.yaml", block(tree))
    assert (document.tree or {}) == tree
    for path, entry in document.entries.items():
        key = at(document, entry.place.line, entry.place.column, entry.place.end_column - entry.place.column)
        assert key in (path.rpartition(".")[2], json.dumps(path.rpartition(".")[2]))
        if isinstance(entry.value, str | int | None):
            place = entry.value_place
            assert at(document, place.line, place.column, len(entry.raw)) == entry.raw


def outcome(text: str) -> Document | InputError:
    try:
        return read_yaml("f.yaml", text)
    except InputError as error:
        return error


@given(st.text(max_size=60))
def test_any_text_is_a_document_or_a_message(text: str):
    found = outcome(text)
    assert isinstance(found, Document) or found.problems[0].where.startswith("f.yaml")


TOKENS = st.sampled_from(
    [
        "a",
        "b: ",
        "- ",
        "\n",
        "\n  ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "#",
        "# c\n",
        '"',
        "'",
        "1e-4",
        "~",
        "&a ",
        "*a",
        "<<: ",
        "|\n",
        ">-\n",
        "!!str ",
        "!x ",
        "? ",
        "x: 1\n",
        "y:\n",
        "\t",
        "\r\n",
        "\r",
        "%",
        "@",
        "é",
        "---\n",
        "\x85",
    ]
)


@given(st.lists(TOKENS, max_size=14).map("".join))
def test_scraps_of_yaml_are_a_document_or_a_message(text: str):
    found = outcome(text)
    if isinstance(found, InputError):
        assert found.problems[0].where.startswith("f.yaml")
        return
    for entry in found.entries.values():
        assert entry.place.line <= text.count("\n") + text.count("\r") + 1
        assert entry.raw in text


def test_the_characters_of_a_value_are_kept():
    entries = read_yaml("f", "a: 1e-4 # x\nb: 'no'\nc: 012\nd: [1, 2]\ne: |\n  t\n").entries
    assert [entry.raw for entry in entries.values()] == ["1e-4", "'no'", "012", "[1, 2]", "|\n  t\n"]
    assert [entry.value for entry in entries.values()] == ["1e-4", "no", 10, [1, 2], "t\n"]


def test_keys_are_text_whatever_they_look_like():
    assert read_yaml("f", "on: 1\n2: x\nnull: y\n1e5: z").tree == {"on": 1, "2": "x", "null": "y", "1e5": "z"}


def test_places_count_characters_and_all_line_ends():
    entries = read_yaml("f", "é: 'ß'\r\nb: 1\rc: 2\n").entries
    assert [(each.place.line, each.place.column) for each in entries.values()] == [(1, 1), (2, 1), (3, 1)]
    assert (entries["é"].value_place.column, entries["é"].value_place.end_column) == (4, 7)


def test_comments_are_found_outside_of_values_only():
    text = "# one\na: 'x # no' # two\nb: | # three\n  # no\nc: x#no\nd: [1, # four\n 2]\n"
    assert read_yaml("f", text).comments == ((1, "one"), (2, "two"), (3, "three"), (6, "four"))


def test_a_template_in_a_value_is_text():
    assert read_yaml("f", "a: '{{ x }}'\nb: x {y} z\nc: ${oc.env:HOME}").tree == {
        "a": "{{ x }}",
        "b": "x {y} z",
        "c": "${oc.env:HOME}",
    }


@pytest.mark.parametrize("text", ["5", "[1, 2]", "just words"])
def test_a_file_without_keys_has_no_entries(text: str):
    assert read_yaml("f", text).entries == {}
