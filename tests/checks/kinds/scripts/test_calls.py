import pytest

from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.scripts.calls import agreeing, defines, may_be_of, positional, written_of
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


def call(text):
    script = document("a.py", f"from transformers import IntervalStrategy\n{text}\n")
    return script.calls[0], script


def test_nested_mappings_are_taken_apart():
    made, script = call("A(kwargs={'a': {'b': 1}}, rate=x)")
    told = written_of(made, script)
    assert told.settings["kwargs.a.b"].value == 1
    assert told.settings["kwargs.a.b"].key == "A.kwargs.a.b"
    assert told.hidden == {"rate"}
    assert told.is_whole


@pytest.mark.parametrize("inside", ["**more", "'a', 'b'", "*rest"])
def test_a_call_with_more_than_can_be_seen_is_not_whole(inside):
    made, script = call(f"A({inside})")
    assert not written_of(made, script).is_whole


def test_members_become_words_where_the_key_has_choices():
    made, script = call("A(eval_strategy=IntervalStrategy.EPOCH, other=IntervalStrategy.EPOCH)")
    settings = written_of(made, script, load_table("transformers")).settings
    assert settings["eval_strategy"].value == "epoch"
    assert settings["other"].value == "IntervalStrategy.EPOCH"


@for_each(("text", "value"), [("A(1, 2)", 2), ("A(1, n=3)", 3), ("A(1)", None), ("A(1, x)", None)])
def test_an_argument_is_found_by_position_or_by_name(text, value):
    made, _ = call(text)
    found = positional(made, 1, "n")
    assert (found.value if found else None) == value


def test_settings_that_differ_do_not_agree():
    one, other = (Setting(key="a", value=value, place=Place("a")) for value in (1, 2))
    assert agreeing([one, one]) is one
    assert agreeing([one, other]) is None
    assert agreeing([]) is None


def test_a_class_of_the_scripts_own_is_seen():
    script = document("a.py", "class Config(Base):\n    pass\n")
    assert defines(script, "Config")
    assert not defines(script, "Base")


@for_each(
    ("code", "is_so"),
    [
        ("from peft import LoraConfig\nLoraConfig()", True),
        ("import peft\npeft.LoraConfig()", True),
        ("import peft as p\np.LoraConfig()", True),
        ("from peft import *\nLoraConfig()", True),
        ("from torchtune import LoraConfig\nLoraConfig()", False),
        ("import torchtune\ntorchtune.LoraConfig()", False),
        ("from .mine import LoraConfig\nLoraConfig()", False),
        (
            "try:\n    from peft import LoraConfig\nexcept ImportError:\n    from .x import LoraConfig\nLoraConfig()",
            True,
        ),
    ],
)
def test_a_class_is_a_librarys_unless_another_package_is_seen_to_bring_it(code, is_so):
    script = document("a.py", code + "\n")
    call = next(each for each in script.calls if each.name == "LoraConfig")
    assert may_be_of(call, script, "peft") is is_so
