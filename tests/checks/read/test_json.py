import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.refusal import has_four_parts
from tests.for_each import for_each
from trimtab.checks.document import Document
from trimtab.checks.read.json import read_json, scan, scan_parts
from trimtab.checks.read.lines import Lines
from trimtab.errors import InputError

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
KEYS = st.text(max_size=6)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(TREES, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_what_python_writes_is_read_back(tree: Any, indent: Any, ascii_only: bool):
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    assert read_json("f", text).tree == tree


@given(st.dictionaries(st.text(alphabet="abcé", min_size=1), TREES, max_size=4))
def test_every_key_is_found_where_it_stands(tree: dict[str, Any]):
    document = read_json("f", json.dumps(tree, indent=1, ensure_ascii=False))
    lines = document.text.split("\n")
    assert set(tree) <= set(document.entries)
    for key in tree:
        place = document.entries[key].place
        assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == f'"{key}"'


@given(
    st.text(alphabet=st.sampled_from("{}[]\",:\\ntrue0123.eE-+u \n#/'x"), max_size=30) | st.text(max_size=30)
)
def test_any_text_is_read_as_python_reads_it_or_refused_with_its_place(text: str):
    got = tree_of(lambda: read_json("f.json", text).tree)
    if isinstance(got, InputError):
        assert got.problems[0].where.startswith("f.json:")
        assert "digits" in str(got) or isinstance(tree_of(lambda: json.loads(text)), ValueError)
    else:
        assert repr(got) == repr(json.loads(text))


def tree_of(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (InputError, ValueError) as error:
        return error


def test_numbers_that_only_python_reads():
    tree = read_json("f", "[NaN, Infinity, -Infinity]").tree
    assert math.isnan(tree[0])
    assert tree[1:] == [math.inf, -math.inf]


def test_the_characters_of_a_value_are_kept():
    entries = read_json("f", '{"a": 2e-5, "b": "x\\ny", "c": [1,  2]}').entries
    assert [entry.raw for entry in entries.values()] == ["2e-5", '"x\\ny"', "[1,  2]"]
    assert entries["b"].value == "x\ny"


def test_half_a_surrogate_is_replaced():
    assert read_json("f", '{"a": "\\ud800", "b": "\\ud83d\\ude00"}').tree == {"a": "\ufffd", "b": "😀"}


@for_each(
    ("text", "what", "where"),
    [
        ("", "nothing is in it", "1:1"),
        ("  \n", "nothing is in it", "2:1"),
        ('{"a": 1', "it ends in the middle", "1:8"),
        ('{"a": 1,}', "a comma before `}`", "1:9"),
        ("[1,\n]", "a comma before `]`", "2:1"),
        ('{"a": 1 // rate\n}', "a comment", "1:9"),
        ('# x\n{"a": 1}', "a comment", "1:1"),
        ('{"a": 1, /* x */ "b": 2}', "a comment", "1:10"),
        ("{'a': 1}", "single quotes", "1:2"),
        ('{"a": True}', "a word of Python", "1:7"),
        ('{"a": None}', "a word of Python", "1:7"),
        ('{"a": auto}', "expected a value", "1:7"),
        ('{"a": 01}', "expected a value", "1:7"),
        ('{"a": .5}', "expected a value", "1:7"),
        ('{"a": 1.}', "expected a value", "1:7"),
        ('{"a" 1}', "expected a colon", "1:6"),
        ('{"a": 1 "b": 2}', "expected a comma", "1:9"),
        ("{a: 1}", "expected a key between double quotes", "1:2"),
        ('{"a": 1}\n{"b": 2}', "nothing more", "2:1"),
        ('{"a": "x', "a quote is opened", "1:7"),
        ('{"a": "x\n"}', "a quote is opened", "1:7"),
        ('{"a": "C:\\data"}', "a backslash", "1:7"),
        ('{"a": "x\ty"}', "a backslash or a tab", "1:7"),
        ('{"a": 1' + "0" * 300 + "}", "a number of too many digits", "1:7"),
    ],
)
def test_what_is_no_json_says_what_and_where(text: str, what: str, where: str):
    with pytest.raises(InputError) as caught:
        read_json("f.json", text)
    assert what in caught.value.problems[0].what
    assert caught.value.problems[0].where == f"f.json:{where}"


def test_of_a_key_written_twice_the_last_counts_as_for_python():
    document = read_json("f", '{"a": 1,\n"a": 2, "b": {"c": [1], "c": [1]}}')
    assert document.tree == {"a": 2, "b": {"c": [1]}}
    assert document.entries["a"].place.line == 2
    told = [(each.key, each.first.line, each.again.line, each.is_same) for each in document.repeated]
    assert told == [("a", 1, 2, False), ("b.c", 2, 2, True)]


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, '[{"a":' * 100_000])
def test_deep_nesting_is_refused(text: str):
    with pytest.raises(InputError, match="nested too deeply") as raised:
        read_json("f", text)
    assert has_four_parts(f"error: {raised.value}")


@for_each("text", ['"' + "x" * 500_000, '"' + "\\n" * 300_000, '"' + "\\" * 300_001, " " * 900_000 + "["])
def test_long_broken_texts_are_refused_at_once(text: str):
    with pytest.raises(InputError):
        read_json("f", text)


def test_a_file_of_data_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.json.MAX_VALUES", 1_000)
    assert len(read_json("f", "[" + "1," * 998 + "1]").tree) == 999
    with pytest.raises(InputError, match="too many values"):
        read_json("f", "[" + "1," * 999 + "1]")


def test_a_document_knows_its_syntax_and_text():
    document = read_json("f", "{}")
    assert isinstance(document, Document)
    assert (document.syntax, document.text, document.comments) == ("json", "{}", ())


@for_each(
    "text",
    [
        '{"a": {"b": [1, {"c": "x"}]}, "skip": {"b": 2}}',
        '{"skip": [1, 2',
        '{"skip": tru}',
        '{"skip": 1 "a": 2}',
        "[" * 999,
    ],
)
def test_passing_over_what_is_not_wanted_changes_nothing_else(text: str):
    def read(scanned: Callable[[Lines], Any]) -> object:
        try:
            node = scanned(Lines("f.json", text))
        except InputError as error:
            return [str(problem) for problem in error.problems]
        return [(key.text, key.start, value) for key, value in node.pairs if key.text == "a"]

    assert read(lambda lines: scan_parts(lines, {0: ("a",)})) == read(scan)
