from dataclasses import replace

from tests.checks.kinds.describing import document
from tests.checks.written import run_of, setting
from tests.for_each import for_each
from trimtab.checks.own_key import calls_of, is_unset, literal, own, own_value


def script(text, **keys):
    run = run_of(keys={f"TrainingArguments.{name}": value for name, value in keys.items()}, syntax="python")
    return replace(run, document=document("train.py", text))


def test_a_key_is_found_at_the_root_and_as_an_argument():
    assert own_value(run_of(keys={"optim": "adamw"}), "optim") == "adamw"
    assert own_value(script("", optim="adamw"), "optim") == "adamw"
    assert own(run_of(keys={"training.optim": "adamw"}), "optim") is None


@for_each(
    ("call", "unset"),
    [
        ('TrainingArguments(output_dir="out")', True),
        ('TrainingArguments(output_dir="out", save_steps=n)', False),
        ('TrainingArguments(output_dir="out", **rest)', False),
        ('TrainingArguments("out")', False),
        ("print(1)", False),
    ],
)
def test_nothing_can_set_a_key_only_where_the_whole_call_is_seen(call, unset):
    assert is_unset(script(f"{call}\n", output_dir="out"), "save_steps") is unset


def test_of_a_file_the_keys_say_it_and_of_a_command_line_nothing_does():
    assert is_unset(run_of(keys={"optim": "adamw"}), "save_steps")
    assert not is_unset(run_of(keys={"save_steps": 5}), "save_steps")
    assert not is_unset(run_of(syntax="shell"), "save_steps")


def test_an_argument_that_is_computed_is_no_literal():
    run = script("f(a=1, b=x)\ng()\n")
    (call,) = calls_of(run, "f")
    assert literal(call, "a") == 1
    assert literal(call, "b") is None
    assert literal(call, "c") is None


def test_a_setting_keeps_its_place():
    kept = setting("optim", "adamw", line=7)
    assert own(run_of(keys={"optim": kept}), "optim") is kept
