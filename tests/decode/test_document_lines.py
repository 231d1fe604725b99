import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.decode.document_lines import json_documents, json_line, text_documents
from trimtab.errors import InputError


@given(lines=st.lists(st.sampled_from(["a", "b", "", " "]), max_size=20))
def test_every_empty_line_ends_a_document(lines):
    expected = [[]]
    for line in lines:
        if line.strip():
            expected[-1].append(line)
        else:
            expected.append([])
    assert [list(document) for document in text_documents(lines)] == expected


def test_a_line_is_read_when_it_is_asked_for():
    read = []

    def lines():
        for line in ("a", "b", ""):
            read.append(line)
            yield line

    document = next(text_documents(lines()))
    assert next(document) == "a"
    assert read == ["a"]


def test_lists_and_objects_come_back_in_their_form():
    lines = ['["a", "b"]', '{"src": ["c"], "doc": 7}', "[]"]
    found = list(json_documents(lines))
    assert [sentences for _, sentences in found] == [["a", "b"], ["c"], []]
    assert json.loads(json_line(found[0][0], ["x", "ü"])) == ["x", "ü"]
    assert json.loads(json_line(found[1][0], ["y"])) == {"src": ["c"], "doc": 7, "translation": ["y"]}


@for_each("line", ["", "{", "7", '"a"', "{}", '{"src": "a"}', "[1]", "[" * 100_000])
def test_a_line_that_is_no_document_is_named(line):
    with pytest.raises(InputError, match="line 2 is no document"):
        list(json_documents(["[]", line], name="x"))


def test_a_number_that_python_does_not_read_is_called_too_long():
    with pytest.raises(InputError, match="line 1 is no document") as caught:
        list(json_documents(['{"src": ["a"], "id": ' + "9" * 10_000 + "}"], name="x"))
    assert caught.value.problems[0].got == "a number of too many digits"
