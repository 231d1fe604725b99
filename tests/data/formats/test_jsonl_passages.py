import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data.formats.jsonl_passages import open_jsonl_passages
from trimtab.errors import InputError


def write(folder, texts):
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"id": 1, "text": text}) + "\n" for text in texts))
    return path


@settings(deadline=None)
@given(texts=st.lists(st.text(st.one_of(st.sampled_from("ab \n\r€"), st.characters(codec="utf-8")))))
def test_every_text_is_a_document_as_it_is(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("jsonl")
    passages = open_jsonl_passages(write(folder, texts), most=16, cache=folder)
    found, parts = [], []
    for number in range(len(passages)):
        passage = passages.passage(number)
        assert passages.num_bytes(number) == len(passage.text.encode()) <= 16
        parts.append(passage.text)
        if passage.ends:
            found.append("".join(parts))
            parts = []
    assert found == [text for text in texts if text.encode().strip()]
    assert passages.num_documents == len(found)


def test_it_may_be_pickled_and_says_where_a_passage_is(tmp_path):
    passages = pickle.loads(
        pickle.dumps(open_jsonl_passages(write(tmp_path, ["a", " ", "b c"]), most=9, cache=tmp_path))
    )
    assert passages.passage(1).text == "b c"
    assert passages.place(1) == f"{tmp_path / 'a.jsonl'}:3"
    assert passages.pair(0) == ("", "a")
    assert passages.longer_than(2).tolist() == [1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[1]", "line 2 is no JSON object"),
        ('{"txt": "a"}', "line 2 has no field 'text'"),
        ('{"text": 3}', "has no text"),
    ],
)
def test_a_line_without_a_text_is_told_when_it_is_opened(tmp_path, line, told):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' + line + "\n")
    with pytest.raises(InputError, match=told):
        open_jsonl_passages(tmp_path / "a.jsonl", most=9, cache=tmp_path)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ('{"texts": "a"}', "rename 'texts' to 'text', or remove the line"),
        ('{"content": "a"}', "put the document into a field 'text', or remove the line"),
        ("{}", "put the document into a field 'text', or remove the line"),
    ],
)
def test_a_document_has_one_field_and_the_error_speaks_of_one(tmp_path, line, fix):
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(InputError) as caught:
        open_jsonl_passages(tmp_path / "a.jsonl", most=9, cache=tmp_path)
    (problem,) = caught.value.problems
    assert (problem.allowed, problem.fix) == ("'text' in every line", fix)


def test_a_number_of_any_length_beside_the_text_is_no_matter(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": -' + "9" * 10_000 + ', "text": "a"}\n')
    assert open_jsonl_passages(tmp_path / "a.jsonl", most=9, cache=tmp_path).passage(0).text == "a"


def test_the_fingerprint_is_of_the_documents_and_not_of_their_passages(tmp_path):
    path = write(tmp_path, ["one two three"])
    few, many = (open_jsonl_passages(path, most=most, cache=tmp_path) for most in (99, 4))
    assert len(few) < len(many)
    assert few.fingerprint == many.fingerprint
    assert (
        open_jsonl_passages(write(tmp_path, ["one two"]), most=99, cache=tmp_path).fingerprint
        != few.fingerprint
    )


def test_blank_lines_are_documents_without_a_text_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n\n \n{"text": ""}\n{"text": "b"}\n')
    passages = open_jsonl_passages(path, most=16, cache=tmp_path)
    assert [passages.passage(number).text for number in range(len(passages))] == ["a", "b"]
    assert passages.empty_documents == [1, 2, 3]
    assert passages.place(1) == f"{path}:5"
