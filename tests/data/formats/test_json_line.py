import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data.formats.json_line import (
    field_at,
    field_paths,
    has_half_character,
    is_document_object,
    read_json,
)
from trimtab.data.lines import open_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.integers(-(2**53), 2**53),
    lambda few: st.lists(few, max_size=3) | st.dictionaries(st.text(max_size=5), few, max_size=3),
    max_leaves=8,
)


def is_document(folder, line):
    (folder / "a").write_bytes(b"first\n" + line + b"\n")
    return is_document_object(open_lines(folder / "a", cache=folder / "cache"), 1)


@given(VALUES)
def test_a_line_is_read_as_the_library_reads_it(value):
    assert read_json(json.dumps(value)) == value


def test_a_number_of_any_length_is_one():
    assert read_json('{"id": ' + "9" * 10_000 + ', "text": "a"}')["text"] == "a"


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8")), st.dictionaries(st.text(max_size=5), VALUES, max_size=3))
def test_an_object_with_a_text_is_a_document(tmp_path_factory, text, more):
    line = json.dumps({**more, "text": text}).encode()
    assert is_document(tmp_path_factory.mktemp("json"), b"\xef\xbb\xbf " + line)


@pytest.mark.parametrize(
    "line",
    ["", " ", "{", "{}", "{curly} text", '{"text": 1}', '{"txt": "a"}', '[{"text": "a"}]', '{"text": "a"} and more',
     '"text"', "[" * 100_000, '{"a": ' * 100_000],
)  # fmt: skip
def test_what_merely_looks_like_one_is_text(tmp_path, line):
    assert not is_document(tmp_path, line.encode())


def test_what_is_no_utf8_is_none(tmp_path):
    assert not is_document(tmp_path, b'{"text": "\xff"}')


@given(st.text(st.characters() | st.sampled_from("\ud800\udbff\udc00\udfff\ue000\ud7ffä"), max_size=6))
def test_half_characters_are_those_that_utf_8_cannot_write(text):
    try:
        text.encode()
        is_whole = True
    except UnicodeEncodeError:
        is_whole = False
    assert has_half_character(text) == (not is_whole)


NAMES = st.text(st.sampled_from("ab."), min_size=1, max_size=3)
OBJECTS = st.recursive(
    st.integers(), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
).filter(lambda value: isinstance(value, dict))


def leaves(fields, before=""):
    """All fields that hold no others, by the slow way, with every name that leads to them."""
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


@given(OBJECTS)
def test_every_field_is_found_by_its_path(fields):
    found = list(leaves(fields))
    assert field_paths(fields) == [path for path, _ in found]
    for path, value in found:
        # Two fields may have one path where names have dots in them; then it is one of theirs, or one above.
        same = [other for each, other in found if each == path]
        got = field_at(fields, path)
        assert got == value or got in same or isinstance(got, dict)


def test_a_name_with_a_dot_comes_before_a_path():
    fields = {"a.b": 1, "a": {"b": 2, "c.d": 3, "c": {"e": 4}}, "x": None}
    assert [field_at(fields, name) for name in ("a.b", "a.c.d", "a.c.e", "x")] == [1, 3, 4, None]
    for name in ("a.x", "x.y", "a.b.c", "", "."):
        with pytest.raises(KeyError):
            field_at(fields, name)
