import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.edits import AddKey, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.apply import expected, meaning
from trimtab.checks.fix.python import edit_python
from trimtab.checks.fix.tree import CannotMend, same
from trimtab.checks.place import Place
from trimtab.checks.read.python import read_python

LONG = """\
from transformers import TrainingArguments
args = TrainingArguments(
    output_dir="out",  # ü here
    learning_rate=(5e-5),
    fp16=True,  # fast
    warmup_steps=100
)
"""
SHORT = 'args = TrainingArguments("out", learning_rate=1e-4, fp16=True, **rest)\n'


def edit(text, change, at=None):
    document = read_python("train.py", text)
    return edit_python(text, document, change, at or Place("train.py"))


@for_each(
    ("change", "before", "after"),
    [
        (SetValue("learning_rate", 1e-3), "(5e-5)", "(0.001)"),
        (RenameKey("fp16", "bf16"), "fp16=True", "bf16=True"),
        (RemoveKey("fp16"), "    fp16=True,  # fast\n", ""),
        (RemoveKey("warmup_steps"), "    warmup_steps=100\n", ""),
        (AddKey("seed", 1, after="fp16"), "# fast\n", "# fast\n    seed=1,\n"),
        (AddKey("seed", 1, after="warmup_steps"), "=100\n", "=100,\n    seed=1\n"),
    ],
)
def test_an_argument_on_its_own_line_is_edited_with_its_line(change, before, after):
    assert before in LONG
    assert edit(LONG, change) == LONG.replace(before, after)


@for_each(
    ("change", "expected_text"),
    [
        (RemoveKey("learning_rate"), 'args = TrainingArguments("out", fp16=True, **rest)\n'),
        (RemoveKey("fp16"), 'args = TrainingArguments("out", learning_rate=1e-4, **rest)\n'),
        (AddKey("tf32", True, after="fp16"), SHORT.replace("fp16=True", "fp16=True, tf32=True")),
        (SetValue("fp16", False), SHORT.replace("True", "False")),
    ],
)
def test_several_arguments_of_one_line_keep_their_commas(change, expected_text):
    assert edit(SHORT, change) == expected_text


def test_of_several_calls_the_one_that_the_finding_stands_at_is_edited():
    text = "a = TrainingArguments(seed=1)\nb = TrainingArguments(seed=2)\n"
    changed = edit(text, SetValue("seed", 3), Place("train.py", 2, 23))
    assert changed == "a = TrainingArguments(seed=1)\nb = TrainingArguments(seed=3)\n"


@pytest.mark.parametrize("name", ["not a name", "class"])
def test_a_name_that_no_argument_can_have_is_refused(name):
    with pytest.raises(CannotMend):
        edit(SHORT, RenameKey("fp16", name))


def test_an_argument_that_is_set_later_is_left_alone():
    with pytest.raises(CannotMend):
        edit('a = TrainingArguments("out")\na.fp16 = True\n', SetValue("fp16", False))


values = st.one_of(st.integers(), st.booleans(), st.text("aü'\"\\", max_size=3), st.none())


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3).filter(str.isidentifier), values, min_size=1),
    st.data(),
)
def test_an_edit_changes_one_argument_of_one_call(arguments, data):
    glue = data.draw(st.sampled_from([", ", ",\n    ", ",  # why\n    "]))
    text = "x = Trainer('ü', " + glue.join(f"{key}={value!r}" for key, value in arguments.items()) + "\n)\n"
    key = data.draw(st.sampled_from(sorted(arguments)))
    change = data.draw(
        st.sampled_from(
            [SetValue(key, 7), RenameKey(key, "new"), RemoveKey(key), AddKey("new", None, after=key)]
        )
    )
    document = read_python("train.py", text)
    new = edit_python(text, document, change, Place("train.py"))
    ast.parse(new)
    wanted = expected(document, change, Place("train.py"))
    assert same(meaning(read_python("train.py", new)), wanted)
    assert new.count("\n") - text.count("\n") in (-1, 0, 1)
