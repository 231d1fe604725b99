import json

import pytest

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpus
from trimtab.data.formats.not_text import advice_for, fields_of
from trimtab.errors import InputError

RECORDS = [{"text": "One document."}, {"text": "Another one."}]
NOTEBOOK = {"cells": [{"cell_type": "code", "source": ["x = 1\n"]}], "nbformat": 4}
CHAT = {"messages": [{"role": "user", "content": "Hello"}]}
PROMPT = {"prompt": "2 + 2 =", "completion": " 4"}


def opened(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return open_corpus(TrainCorpus(text=str(path)), root=folder, cache=folder / "cache", passage_bytes=1000)


WRONG = {
    "array.json": (json.dumps(RECORDS), "is a JSON array", "jq -c '.[]' array.json > array.jsonl"),
    "pretty.json": (json.dumps(RECORDS, indent=2), "is a JSON array", "one object a line"),
    "named.txt": (json.dumps(RECORDS, indent=2), "is a JSON array", "one object a line"),
    "strings.txt": (json.dumps(["One.", "Two."]), "is a JSON array", "{text: .}"),
    "lines.json": ("\n".join(map(json.dumps, RECORDS)), "contains JSON", "call it lines.jsonl"),
    "object.json": (json.dumps({"data": RECORDS}, indent=1), "is JSON", "one object a line"),
    "chat.json": (json.dumps(CHAT), "an object a line without a 'text'", "call it chat.jsonl"),
    "prompts.txt": (json.dumps(PROMPT), "an object a line", "source: prompt, target: completion"),
    "prompts.jsonl": (json.dumps(PROMPT), "has no field 'text'", "source: prompt, target: completion"),
    "chat.jsonl": (json.dumps({"messages": []}), "has a conversation that cannot be read", "repair"),
    "table.csv": ("id,text\n1,One document.\n", "is a table", "csv.DictReader(sys.stdin)"),
    "table.tsv": ("id\ttext\n1\tOne document.\n", "is a table", "delimiter"),
    "book.ipynb": (json.dumps(NOTEBOOK, indent=1), "is a notebook", "nbconvert"),
    "book.txt": (json.dumps(NOTEBOOK, indent=1), "is a notebook", "nbconvert"),
    "memory.tmx": ("<tmx></tmx>", "is TMX", "JSONL"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_text_is_refused_with_the_way_to_make_it_text(tmp_path, name):
    text, said, fix = WRONG[name]
    with pytest.raises(InputError) as error:
        opened(tmp_path, name, text).check()
    (problem,) = error.value.problems
    assert said in problem.what
    assert fix in problem.fix


RIGHT = {
    "quoted.txt": '["Hello," she said, and left.]\n',
    "bracket.txt": "[1] A note at the foot of a page.\n",
    "brace.txt": "{a word in braces} and more\n",
    "list.txt": "[ ] buy milk\n[x] write tests\n",
    "plain.md": "# A title\n\nand text\n",
    "c.txt": '{\n  printf("hello");\n}\n',
}


@pytest.mark.parametrize("name", RIGHT)
def test_text_that_only_begins_like_it_is_read(tmp_path, name):
    assert len(opened(tmp_path, name, RIGHT[name])) >= 1


def test_documents_without_a_text_are_counted_by_their_lines(tmp_path):
    rows = [{"text": ""}, {"text": "One."}, {"text": " \n"}, {"text": "Two."}]
    corpus = opened(tmp_path, "some.jsonl", "\n".join(map(json.dumps, rows)))
    assert (len(corpus), corpus.empty_documents) == (2, [0, 2])
    assert opened(tmp_path, "some.txt", "One.\n\n\nTwo.\n").empty_documents == []


def test_fields_are_those_of_an_object():
    assert fields_of('{"a": 1, "b": 2}') == ["a", "b"]
    assert fields_of("[1]") == fields_of("no JSON") == []
    assert advice_for(["body"]) == ""
