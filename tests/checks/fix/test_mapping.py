import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.checks.fix.written import edits, json_texts, trees, yaml_texts
from tests.for_each import for_each
from trimtab.checks.edits import AddKey, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix import json as json_syntax
from trimtab.checks.fix import yaml as yaml_syntax
from trimtab.checks.fix.mapping import Cut, edit_mapping, newline_of
from trimtab.checks.fix.node import find
from trimtab.checks.fix.tree import CannotMend, edited, same


def parsed_yaml(text):
    return plain(YAML(typ="safe", pure=True).load(text))


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float | int) and not isinstance(value, bool):
        return type(value).__mro__[-2](value)
    return value


def untouched_lines(text, root, edit):
    """Lines before the first and behind the last that the key, its value and its neighbours stand in."""
    found = find(root, edit.after if isinstance(edit, AddKey) else edit.key)
    members = found.mapping.members
    near = members[max(0, found.index - 1) : found.index + 2]
    alone = len(members) == 1
    start = text.rfind("\n", 0, found.mapping.start if alone else near[0].start) + 1
    end = text.find("\n", found.mapping.end if alone else max(member.value.end for member in near))
    return text[:start], "" if end < 0 else text[end + 1 :]


def check_edit(text, edit, syntax, parse):
    before = parse(text)
    new = edit_mapping(text, edit, syntax)
    assert same(parse(new), edited(before, edit)), (text, new)
    above, below = untouched_lines(text, syntax.locate(text), edit)
    assert new.startswith(above.removesuffix("\n").removesuffix("\r"))
    assert new.endswith(below)
    assert new.endswith("\n") == text.endswith("\n")
    assert ("\r\n" in new) <= ("\r\n" in text)
    assert new.count("\n") == new.count("\r\n") or "\r\n" not in text


@pytest.mark.slow
@given(st.data())
def test_an_edit_of_yaml_changes_that_key_and_no_line_that_is_not_next_to_it(data):
    tree = data.draw(trees)
    text = data.draw(yaml_texts(tree))
    edit = data.draw(edits(tree))
    check_edit(text, edit, yaml_syntax, parsed_yaml)


@pytest.mark.slow
@given(st.data())
def test_an_edit_of_json_changes_that_key_and_no_line_that_is_not_next_to_it(data):
    tree = data.draw(trees)
    text = data.draw(json_texts(tree))
    edit = data.draw(edits(tree))
    check_edit(text, edit, json_syntax, json.loads)


BLOCK = """\
# a run
model: tiny   # small
steps: 500
data:
  - path: a.txt
    # not this one
    weight: 2
  - path: b.txt
"""


@for_each(
    ("edit", "before", "after"),
    [
        (SetValue("steps", 1000), "steps: 500", "steps: 1000"),
        (RenameKey("model", "model_name"), "model: tiny   # small", "model_name: tiny   # small"),
        (RemoveKey("model"), "model: tiny   # small\n", ""),
        (RemoveKey("data.0.path"), "- path: a.txt\n    # not this one\n", "- # not this one\n"),
        (RemoveKey("data.1.path"), "- path: b.txt", "- {}"),
        (AddKey("warmup", 50, after="model"), "tiny   # small\n", "tiny   # small\nwarmup: 50\n"),
        (AddKey("data.0.name", "no", after="data.0.path"), "a.txt\n", 'a.txt\n    name: "no"\n'),
        (SetValue("data", ["a.txt"]), BLOCK[BLOCK.index("data") :].rstrip(), "data: [a.txt]"),
    ],
)
def test_comments_and_order_of_a_block_stay(edit, before, after):
    assert before in BLOCK
    assert edit_mapping(BLOCK, edit, yaml_syntax) == BLOCK.replace(before, after)


FLOW = "opt: {lr: 1e-3, betas: [0.9, 0.98], eps: 1.0e-8}\n"


@for_each(
    ("edit", "expected"),
    [
        (RemoveKey("opt.lr"), "opt: {betas: [0.9, 0.98], eps: 1.0e-8}\n"),
        (RemoveKey("opt.eps"), "opt: {lr: 1e-3, betas: [0.9, 0.98]}\n"),
        (SetValue("opt.lr", 0.001), "opt: {lr: 0.001, betas: [0.9, 0.98], eps: 1.0e-8}\n"),
        (
            AddKey("opt.wd", 0.1, after="opt.betas"),
            "opt: {lr: 1e-3, betas: [0.9, 0.98], wd: 0.1, eps: 1.0e-8}\n",
        ),
    ],
)
def test_commas_between_brackets_stay_right(edit, expected):
    assert edit_mapping(FLOW, edit, yaml_syntax) == expected


INDENTED = '{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}'


@for_each(
    ("edit", "expected"),
    [
        (RemoveKey("a"), '{\n  "b": {\n    "c": 2\n  }\n}'),
        (RemoveKey("b"), '{\n  "a": 1\n}'),
        (RemoveKey("b.c"), '{\n  "a": 1,\n  "b": {}\n}'),
        (AddKey("n", "x", after="b"), '{\n  "a": 1,\n  "b": {\n    "c": 2\n  },\n  "n": "x"\n}'),
        (AddKey("n", "x", after="a"), '{\n  "a": 1,\n  "n": "x",\n  "b": {\n    "c": 2\n  }\n}'),
    ],
)
def test_indentation_and_commas_of_json_stay_right(edit, expected):
    assert edit_mapping(INDENTED, edit, json_syntax) == expected


def test_an_anchor_stays_before_a_new_value():
    assert edit_mapping("a: &x 1\nb: 2\n", SetValue("a", 3), yaml_syntax) == "a: &x 3\nb: 2\n"


def test_a_key_that_comes_by_an_anchor_is_refused():
    text = "base: &b {lr: 1}\nrun:\n  <<: *b\n  steps: 1\n"
    with pytest.raises(CannotMend, match="come by an anchor"):
        edit_mapping(text, SetValue("run.lr", 2), yaml_syntax)


def test_a_cut_puts_new_text_in_the_place_of_old():
    assert Cut(1, 3, "x").applied("abcd") == "axd"
    assert newline_of("a\r\nb") == "\r\n"
    assert newline_of("a\nb") == "\n"
