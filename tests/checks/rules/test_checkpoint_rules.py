import pytest

from tests.checks.rules.findings import of_example, severities
from tests.for_each import for_each
from trimtab.checks.rules import k101_resume_repeats_data as k101
from trimtab.checks.rules import k102_nothing_to_resume_from as k102
from trimtab.checks.rules import k103_only_one_checkpoint as k103
from trimtab.checks.rules import k104_weights_saved_as_pickle as k104
from trimtab.checks.rules import k105_checkpoint_cannot_be_resumed as k105
from trimtab.checks.rules import k106_resumed_without_a_word as k106
from trimtab.checks.rules import k107_resumes_from_the_average as k107
from trimtab.checks.rules import k108_resumed_after_its_end as k108
from trimtab.checks.rules import k109_averaged_without_statistics as k109
from trimtab.checks.rules import k110_checkpoint_at_every_step as k110


def test_data_are_repeated_only_where_the_file_asks_for_it():
    assert of_example(k101) == ["warning"]
    assert of_example(k101, ("true", "false")) == []


def test_a_smoke_test_needs_no_checkpoint():
    assert of_example(k102, ('"max_steps": 5000', '"max_steps": 20')) == []
    assert of_example(k102, ('"save_strategy": "steps"', '"save_strategy": "epoch"')) == []


def test_a_run_that_saves_nothing_is_not_told_to_keep_more():
    assert of_example(k103, ('"save_steps": 500', '"save_strategy": "no"')) == []


@for_each(
    ("more", "count"),
    [
        ('"push_to_hub": false', 1),
        ('"hub_strategy": "every_save"', 1),
        ('"push_to_hub": true', 0),
        ('"push_to_hub": true, "hub_strategy": "checkpoint"', 0),
        ('"push_to_hub": true, "hub_strategy": "end"', 1),
    ],
)
def test_what_is_pushed_with_each_save_is_kept_there(more, count):
    assert len(of_example(k103, ('"save_steps": 500', f'"save_steps": 500, {more}'))) == count


def test_the_key_of_the_pickle_is_another_rules_matter_where_it_is_gone():
    assert of_example(k104) == ["warning"]
    assert of_example(k104, versions="transformers=5.24.0") == []


def test_a_folder_to_resume_from_is_named():
    pair = ("auto_resume_from_checkpoints: true", "resume_from_checkpoint: out/checkpoint-500")
    assert of_example(k105, pair) == ["warning"]
    assert of_example(k105, ("auto_resume_from_checkpoints: true", "resume_from_checkpoint:")) == []


@pytest.mark.parametrize(
    "more", ["resume_from_checkpoint: out/checkpoint-5\n", "overwrite_output_dir: true\n", "stage: rm\n"]
)
def test_whoever_says_how_to_begin_is_not_warned(more):
    text = k106.RULE.bad.text
    text = text.replace("stage: sft\n", "") if more.startswith("stage") else text
    assert severities(k106, "factory.yaml", text + more) == []


def test_an_average_of_zero_is_none():
    assert of_example(k107) == ["note"]
    assert of_example(k107, ("0.0005", "0.0")) == []


@for_each(
    ("pair", "count"),
    [
        (("train_steps: 50000", "train_steps: 100000"), 1),
        (("train_steps: 50000", "train_steps: 100001"), 0),
        (("train_steps: 50000", "train_steps: 50000\nreset_optim: all"), 0),
        (("model_step_100000.pt", "model_best.pt"), 0),
    ],
)
def test_steps_are_counted_from_the_start_of_the_first_run(pair, count):
    assert len(of_example(k108, pair)) == count


def test_a_trainers_checkpoint_has_its_step_in_the_name_too():
    args = (
        '{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 1000, '
        '"resume_from_checkpoint": "out/checkpoint-1000"}'
    )
    assert severities(k108, "args.json", args) == ["error"]


def test_layer_norms_have_no_statistics():
    assert of_example(k109, ("BatchNorm2d", "LayerNorm")) == []
    assert of_example(k109, ("AveragedModel(model)", "AveragedModel(model, use_buffers=True)")) == []


def test_every_tenth_step_is_not_every_step():
    assert of_example(k110) == ["warning"]
    assert of_example(k110, ('"save_steps": 5}', '"save_steps": 10}')) == []


def test_a_recipe_that_keeps_one_checkpoint_keeps_the_best_one_too():
    recipe = (
        "data: {train: [{source: a.en, target: a.de}], valid: {source: b.en, target: b.de}}\n"
        "model: {preset: tiny}\nlength: 5000 steps\ncheckpoint: {keep: 1}\n"
    )
    assert severities(k103, "recipe.yaml", recipe) == []
