import pytest

from tests.for_each import for_each
from trimtab.checks.edits import AddKey, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.apply import expected, meaning
from trimtab.checks.fix.shell import edit_shell
from trimtab.checks.fix.tree import CannotMend, same
from trimtab.checks.place import Place
from trimtab.checks.read.shell import read_shell

LONG = """\
#!/bin/sh
accelerate launch train.py \\
    --output_dir out \\
    --learning_rate 5e-5 \\
    --fp16 \\
    --warmup-steps=100
echo done
"""
SHORT = "torchrun train.py --learning_rate=1e-4 --fp16 --output_dir out\n"


def edit(text, change):
    document = read_shell("run.sh", text)
    at = Place("run.sh")
    new = edit_shell(text, document, change, at)
    assert same(meaning(read_shell("run.sh", new)), expected(document, change, at))
    return new


@for_each(
    ("change", "before", "after"),
    [
        (SetValue("learning_rate", 0.001), "5e-5", "0.001"),
        (SetValue("warmup_steps", 50), "=100", "=50"),
        (RenameKey("fp16", "bf16"), "--fp16", "--bf16"),
        (RenameKey("warmup_steps", "warmup_ratio"), "--warmup-steps", "--warmup_ratio"),
        (RemoveKey("learning_rate"), "    --learning_rate 5e-5 \\\n", ""),
        (RemoveKey("fp16"), "    --fp16 \\\n", ""),
        (RemoveKey("warmup_steps"), " \\\n    --warmup-steps=100", ""),
        (AddKey("seed", 1, after="output_dir"), "out \\\n", "out \\\n    --seed 1 \\\n"),
        (AddKey("seed", 1, after="warmup_steps"), "=100", "=100 \\\n    --seed=1"),
    ],
)
def test_an_option_on_its_own_line_is_edited_with_its_line(change, before, after):
    assert before in LONG
    assert edit(LONG, change) == LONG.replace(before, after)


@for_each(
    ("change", "text"),
    [
        (RemoveKey("learning_rate"), "torchrun train.py --fp16 --output_dir out\n"),
        (RemoveKey("output_dir"), "torchrun train.py --learning_rate=1e-4 --fp16\n"),
        (SetValue("output_dir", "a b"), "torchrun train.py --learning_rate=1e-4 --fp16 --output_dir 'a b'\n"),
        (AddKey("tf32", True, after="fp16"), SHORT.replace("--fp16", "--fp16 --tf32 True")),
    ],
)
def test_options_of_one_line_stay_apart(change, text):
    assert edit(SHORT, change) == text


def test_several_values_of_an_option_are_written_side_by_side():
    text = "torchrun train.py --betas 0.9 0.99 --seed 1\n"
    assert edit(text, SetValue("betas", [0.9, 0.95])) == text.replace("0.99", "0.95")


def test_an_option_without_a_value_gets_none():
    with pytest.raises(CannotMend):
        edit(SHORT, SetValue("fp16", False))
