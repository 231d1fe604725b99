import pytest

from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.combination import Combination, found, holds


@for_each(
    ("when", "keys", "is_true"),
    [
        ("streaming", {"streaming": True}, True),
        ("streaming", {"streaming": False}, False),
        ("streaming", {"streaming": 0}, False),
        ("streaming", {}, False),
        ("streaming !max_steps", {"streaming": True}, True),
        ("streaming !max_steps", {"streaming": True, "max_steps": None}, True),
        ("streaming !max_steps", {"streaming": True, "max_steps": 10}, False),
        ("stage=ppo|KTO", {"stage": "kto"}, True),
        ("stage=ppo", {"stage": "sft"}, False),
        ("val_set_size=0|0.0", {"val_set_size": 0}, True),
        ("val_set_size=0|0.0", {"val_set_size": 0.0}, True),
        ("stage!=sft", {"stage": "dpo"}, True),
        ("stage!=sft", {"stage": "sft"}, False),
        ("stage!=sft", {"stage": ""}, False),
        ("stage!=sft", {}, False),
        ("rl !keep=false", {"rl": "kto"}, True),
        ("rl !keep=false", {"rl": "kto", "keep": True}, True),
        ("rl !keep=false", {"rl": "kto", "keep": False}, False),
    ],
)
def test_the_terms_of_a_line_hold_for_what_is_written(when, keys, is_true):
    assert (holds(run_of(keys=keys), when) is not None) is is_true


def test_it_names_the_first_setting_that_must_be_there():
    setting = holds(run_of(keys={"a": 1, "b": 2}), "!c b a")
    assert setting is not None
    assert setting.key == "b"


@pytest.mark.parametrize("syntax", ["python", "shell"])
def test_a_missing_key_says_nothing_where_it_may_be_set_elsewhere(syntax):
    assert holds(run_of(keys={"streaming": True}, syntax=syntax), "streaming !max_steps") is None


def test_a_key_is_named_by_one_row_only():
    rows = (
        Combination("a b", "first", ""),
        Combination("a c", "second", ""),
        Combination("c a", "third", ""),
    )
    told = [row.says for _, row in found(run_of(keys={"a": 1, "b": 1, "c": 1}), rows)]
    assert told == ["first", "third"]


def test_in_a_script_a_call_stands_before_the_key():
    keys = {"TrainingArguments.bf16": True, "TrainingArguments.fp16": True}
    setting = holds(run_of(keys=keys, syntax="python"), "fp16 bf16=true")
    assert setting is not None
    assert setting.key == "TrainingArguments.fp16"
    assert holds(run_of(keys=keys), "fp16 bf16=true") is None
    assert holds(run_of(keys=keys, syntax="python"), "fp16 !tf32") is None
