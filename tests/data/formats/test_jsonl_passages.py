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
