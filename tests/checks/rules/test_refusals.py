"""The rules that know what a tool refuses: every row of their tables is one that can hold, and holds alone."""

import re

import pytest

from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.combination import Combination, holds
from trimtab.checks.rules import (
    c110_setting_under_two_names,
    c111_evaluation_refused,
    c112_schedule_option_without_effect,
    c117_batch_or_length_refused,
    c118_adapter_refused,
    c119_engine_refused,
    c120_data_refused,
    c121_option_without_effect,
    c122_best_model_out_of_step,
)

MODULES = (
    c111_evaluation_refused,
    c112_schedule_option_without_effect,
    c117_batch_or_length_refused,
    c118_adapter_refused,
    c119_engine_refused,
    c120_data_refused,
    c121_option_without_effect,
)
ROWS = [(module, tool, row) for module in MODULES for tool, rows in module._ROWS.items() for row in rows]
each_row = for_each(
    ("module", "tool", "row"), ROWS, called=lambda row: f"{row[0].RULE.code} {row[1]}: {row[2].when}"
)


def written_for(row: Combination) -> dict[str, object]:
    """Values with which the row holds."""
    keys: dict[str, object] = {}
    for word in row.when.split():
        found = re.fullmatch(r"(!?)([^!=]+)(!?=)?(.*)", word)
        assert found, word
        negated, key, sign, values = found.groups()
        if not negated:
            keys[key] = values.split("|")[0] if sign == "=" else "else" if sign == "!=" else 1
    return keys


@each_row
def test_a_key_is_told_where_the_terms_of_a_row_hold(module, tool, row):
    keys = written_for(row)
    where = holds(run_of(keys=keys), row.when)
    assert where is not None
    # Another row may say what is wrong with the same key.
    assert where.key in {each.key for each in module.check(run_of(tool=tool, keys=keys))}


@each_row
def test_a_row_is_not_told_for_another_tool(module, tool, row):
    assert list(module.check(run_of(tool="torch", keys=written_for(row)))) == []


@pytest.mark.parametrize(("save", "count"), [(750, 1), (1000, 0), (500, 0)])
def test_early_stopping_of_axolotl_wants_even_steps(save, count):
    keys = {"early_stopping_patience": 3, "save_steps": save, "eval_steps": 500}
    assert len(list(c111_evaluation_refused.check(run_of(tool="axolotl", keys=keys)))) == count


@for_each(
    ("keys", "count"),
    [
        ({"accum_count": [2, 4], "accum_steps": [0, 100]}, 0),
        ({"accum_count": [2, 4]}, 1),
        ({"accum_count": 4}, 0),
        ({"dropout": [0.1, 0.2], "dropout_steps": [0]}, 1),
    ],
)
def test_paired_lists_of_opennmt_are_as_long(keys, count):
    assert len(list(c117_batch_or_length_refused.check(run_of(tool="opennmt", keys=keys)))) == count


@for_each(("whole", "count"), [(32, 0), (64, 0), (40, 1), ("auto", 0)])
def test_the_batch_of_deepspeed_is_a_multiple_of_one_devices(whole, count):
    keys = {"train_batch_size": whole, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}
    assert len(list(c117_batch_or_length_refused.check(run_of(tool="deepspeed", keys=keys)))) == count


@for_each(("group", "count"), [(8, 0), (3, 1), (1, 1), ("8", 0)])
def test_groups_of_grpo_fill_the_batch(group, count):
    keys = {
        "rl": "grpo",
        "trl.num_generations": group,
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
    }
    assert len(list(c120_data_refused.check(run_of(tool="axolotl", keys=keys)))) == count


def test_two_names_that_say_the_same_are_fine():
    keys = {"layers": 6, "enc_layers": 6, "dec_layers": 3}
    (one,) = c110_setting_under_two_names.check(run_of(tool="opennmt", keys=keys))
    assert one.key == "dec_layers"


@for_each(
    ("concepts", "count"),
    [
        ({"eval_strategy": "no", "save_strategy": "steps"}, 1),
        ({"eval_strategy": "steps", "save_strategy": "best"}, 0),
        ({"eval_strategy": "epoch", "save_strategy": "epoch"}, 0),
        ({"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": 0.1, "save_steps": 0.25}, 0),
        ({"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": 200.0, "save_steps": 500.0}, 1),
        ({"save_strategy": "steps"}, 0),
    ],
)
def test_the_best_model_needs_evaluation_and_saving_in_step(concepts, count):
    run = run_of(concepts={"load_best": True, **concepts})
    assert len(list(c122_best_model_out_of_step.check(run))) == count


def test_a_batch_of_one_number_is_told_where_that_number_stands():
    (one,) = c117_batch_or_length_refused.check(
        run_of(tool="axolotl", keys={"datasets": [{}], "micro_batch_size": 1})
    )
    assert one.key == "micro_batch_size"
