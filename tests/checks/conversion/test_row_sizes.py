import json

import pytest

from trimtab.checks.conversion.data_sets import INSTRUCTION_FIELDS, DataSet
from trimtab.checks.conversion.row_sizes import row_sizes

ROW = {"instruction": "i" * 36, "input": "n" * 24, "output": "o" * 40}


def of(tmp_path, text, name="a.jsonl", learn="answers", **data):
    (tmp_path / name).write_text(text)
    told = {"form": "instructions", "fields": INSTRUCTION_FIELDS, **data}
    return row_sizes(DataSet(key="d", name=name, folder=tmp_path, **told), learn=learn)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_tokens_are_a_quarter_of_the_bytes_and_the_end_symbol(name, tmp_path):
    text = "\n".join([json.dumps(ROW)] * 3) if name.endswith("l") else json.dumps([ROW] * 3)
    found = of(tmp_path, text, name)
    assert (found.tokens, found.counted, found.rows) == (26, 11, 3)
    assert of(tmp_path, text, name, learn="all").counted == 26


def test_answers_of_a_chat_are_those_of_its_assistant(tmp_path):
    row = {"messages": [{"role": "user", "content": "u" * 8}, {"role": "bot", "content": "b" * 20}]}
    found = of(tmp_path, json.dumps(row), form="chats", fields={}, roles={"bot": "assistant"})
    assert (found.tokens, found.counted) == (8, 6)


def test_a_list_that_is_cut_off_gives_the_rows_before(tmp_path):
    assert of(tmp_path, json.dumps([ROW] * 3)[:-20], "a.json").rows == 2


@pytest.mark.parametrize("text", ["", "\n\n", "[", "{", "nothing", "[[[[", '{"instruction": 3}', "\ufffd\0"])
def test_what_holds_no_rows_has_no_size(text, tmp_path):
    assert of(tmp_path, text) is None
    assert of(tmp_path, text, "a.json") is None


def test_a_file_that_is_not_there_has_no_size(tmp_path):
    assert row_sizes(DataSet(key="d", name="a.jsonl", folder=tmp_path), learn="all") is None
