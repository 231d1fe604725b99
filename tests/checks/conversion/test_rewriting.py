import json
import shutil
import subprocess

import pytest

from tests.for_each import for_each
from trimtab.checks.conversion.data_sets import INSTRUCTION_FIELDS, DataSet
from trimtab.checks.conversion.rewriting import commands, file_of
from trimtab.data.formats.chat import messages_of

TURNS = [("user", "q"), ("assistant", "a")]
ASKED = {**INSTRUCTION_FIELDS, "instruction": "the question", "output": "answer"}


@for_each(
    ("data", "learn", "row", "wanted"),
    [
        (
            {"form": "chats", "fields": {"messages": "dialog", "role": "who", "content": "says"}},
            "answers",
            {"dialog": [{"who": "human", "says": "q"}, {"who": "gpt", "says": "a"}]},
            TURNS,
        ),
        (
            {"form": "chats", "fields": {"messages": "dialog"}, "roles": {"bot": "assistant"}},
            "answers",
            {"dialog": [{"role": "user", "content": "q"}, {"role": "bot", "content": "a"}]},
            TURNS,
        ),
        (
            {"form": "chats", "fields": {"system": "before"}},
            "answers",
            {"before": "be brief", "messages": [{"role": n, "content": t} for n, t in TURNS]},
            [("system", "be brief"), *TURNS],
        ),
        ({"form": "instructions", "fields": ASKED}, "answers", {"the question": "q", "answer": "a"}, TURNS),
        (
            {"form": "instructions", "fields": {**INSTRUCTION_FIELDS, "history": "before"}},
            "answers",
            {"instruction": "q", "input": "", "output": "a", "before": [["x", "y"]]},
            [("user", "x"), ("assistant", "y"), *TURNS],
        ),
        (
            {"form": "instructions", "fields": {**INSTRUCTION_FIELDS}},
            "all",
            {"instruction": "q", "input": "i", "output": "a", "system": "s"},
            [("system", "s"), ("user", "q\ni"), ("assistant", "a")],
        ),
    ],
)
@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_the_command_makes_rows_that_a_recipe_reads(data, learn, row, wanted, tmp_path):
    (tmp_path / "r.jsonl").write_text(json.dumps(row) + "\n")
    told = DataSet(key="datasets.0", name="r.jsonl", folder=tmp_path, **data)
    (line,) = commands(told, learn=learn)
    subprocess.run(line, shell=True, cwd=tmp_path, check=True)
    (made,) = (tmp_path / file_of(told, learn=learn)).read_text().splitlines()
    assert [(each.role, each.content) for each in messages_of(json.loads(made))] == wanted


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_a_list_and_its_lines_become_the_same_file_of_texts(tmp_path):
    rows = [{"a b": "one"}, {"a b": 'two "quoted" $(x)'}]
    told = {"form": "texts", "fields": {"text": "a b"}, "key": "d", "folder": tmp_path}
    for name, text in (("l.json", json.dumps(rows)), ("o.json", "\n".join(map(json.dumps, rows)))):
        (tmp_path / name).write_text(text)
        (line,) = commands(DataSet(name=name, **told), learn="all")
        subprocess.run(line, shell=True, cwd=tmp_path, check=True)
        made = (tmp_path / name.replace("json", "jsonl")).read_text().splitlines()
        assert [json.loads(each)["text"] for each in made] == ["one", 'two "quoted" $(x)']


@for_each(
    ("data", "wanted"),
    [
        ({"name": "a.jsonl"}, []),
        ({"name": "c.jsonl.gz", "form": "texts", "fields": {"text": "c"}},
         ["zcat c.jsonl.gz | jq -c '{text: .c}' > c.rows.jsonl"]),
        ({"name": "o/n", "config": "v", "shards": 4},
         ["""python -c 'import datasets; datasets.load_dataset("o/n", "v", split="train").shard(4, 0)"""
          """.to_json("n.jsonl")'"""]),
        ({"name": "x.parquet"},
         ["""python -c 'import datasets; datasets.load_dataset("parquet", data_files="x.parquet", split="train")"""
          """.to_json("x.jsonl")'"""]),
        ({"name": "https://a/x.jsonl"},
         ["""python -c 'import datasets; datasets.load_dataset("json", data_files="https://a/x.jsonl", """
          """split="train").to_json("x.rows.jsonl")'"""]),
    ],
)  # fmt: skip
def test_what_is_read_from_elsewhere_is_loaded_first(data, wanted):
    assert commands(DataSet(key="d", **data), learn="answers") == wanted


def test_names_are_quoted_for_the_shell_and_for_python():
    (line,) = commands(DataSet(key="d", name="a; rm 'x' \"y\".json"), learn="answers")
    assert line.endswith(""" 'a; rm '"'"'x'"'"' "y".json' > 'a; rm '"'"'x'"'"' "y".jsonl'""")
