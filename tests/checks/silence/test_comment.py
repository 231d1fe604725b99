import json

import pytest

from tests.for_each import for_each
from trimtab.checks.read.notebook import read_notebook
from trimtab.checks.read.python import read_python
from trimtab.checks.read.yaml import read_yaml
from trimtab.checks.silence.comment import silences_of_comments

TEXT = """\
# trimtab: allow S101 in this file because the model is small
model: tiny
# trimtab: allow S104, warmup-longer-than-run because of a smoke test

# another comment
warmup_steps: 1000
max_steps: 500  # trimtab: allow C101
"""


def test_a_comment_is_meant_for_its_line_or_the_next_or_the_file():
    silences, strange = silences_of_comments(read_yaml("a.yaml", TEXT))
    assert strange == []
    assert [(each.rules, each.because, each.line) for each in silences] == [
        (("S101",), "the model is small", 0),
        (("S104", "warmup-longer-than-run"), "of a smoke test", 6),
        (("C101",), "", 7),
    ]
    assert [(each.place.line, each.place.column) for each in silences] == [(1, 1), (3, 1), (7, 17)]


@for_each("text", ["ignore S104", "allow", "allow S104 S105", "allow S104 for ever", ""])
def test_a_comment_that_addresses_trimtab_in_vain_is_told(text):
    silences, strange = silences_of_comments(read_yaml("a.yaml", f"a: 1  # trimtab: {text}\n"))
    assert silences == []
    assert [said for _, said in strange] == [text]


def test_a_comment_that_only_speaks_of_trimtab_is_none_of_its_business():
    document = read_yaml("a.yaml", "# checked with trimtab: see the README\n# trimtab is nice\na: 1\n")
    silences, strange = silences_of_comments(document)
    assert silences == []
    assert strange == []


def test_scripts_are_silenced_in_the_same_way():
    document = read_python("a.py", "f(\n    x=1,  # trimtab: allow S104 because it is a test\n)\n")
    silences, _ = silences_of_comments(document)
    assert [(each.rules, each.line) for each in silences] == [(("S104",), 2)]


def test_a_silence_at_the_end_of_a_file_is_meant_for_its_own_line():
    silences, _ = silences_of_comments(read_yaml("a.yaml", "a: 1\n# trimtab: allow S104 because x\n"))
    assert silences[0].line == 2


@for_each("strange", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"])
def test_only_what_ends_a_line_for_the_reader_ends_it_for_a_silence(strange):
    row = strange if strange == "\x0c" else f"# {strange}"
    text = f"x = 'a'\n{row}\nf(\n  # trimtab: allow S104 because x\n  a=1)\n"
    silences, _ = silences_of_comments(read_python("a.py", text))
    assert [(each.place.line, each.place.column, each.line) for each in silences] == [(4, 3, 5)]


@pytest.mark.parametrize("in_lines", [True, False])
def test_in_a_notebook_a_comment_of_its_own_is_meant_for_the_next_line_of_code(in_lines):
    code = "# trimtab: allow S104 because x\n\n# more\nf(a=1)\n"
    source = code.splitlines(keepends=True) if in_lines else code
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    text = json.dumps({"nbformat": 4, "cells": [cell]}, indent=1)
    silences, _ = silences_of_comments(read_notebook("a.ipynb", text))
    row = next(number for number, line in enumerate(text.split("\n"), 1) if "f(a=1)" in line)
    assert [each.line for each in silences] == [row]


@pytest.mark.slow
def test_a_long_block_of_comments_is_read_in_one_pass():
    text = "# trimtab: allow S104 because x\n" * 30_000 + "a: 1\n"
    silences, _ = silences_of_comments(read_yaml("a.yaml", text))
    assert {each.line for each in silences} == {30_001}
