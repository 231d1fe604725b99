from typing import get_args

import pytest

from trimtab.config.export_targets import ExportTarget, facts_of, obstacles
from trimtab.config.load import parse_recipe
from trimtab.config.task_facts import facts_of as task_facts
from trimtab.config.task_facts import init_recipe
from trimtab.config.task_record import TASKS


def test_the_starter_loads_without_a_problem():
    recipe = parse_recipe(init_recipe()).recipe
    assert recipe.task == "translation"
    assert recipe.data.train[0].source == "train.en"


@pytest.mark.parametrize("task", TASKS)
def test_the_starter_of_each_task_loads_as_this_task_and_fits_a_screen(task):
    text = init_recipe(task)
    recipe = parse_recipe(text).recipe
    assert (recipe.task, recipe.model.kind) == (task, task_facts(task).model_kinds[0])
    assert max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("task", ["translation", "language_model"])
def test_it_shows_the_keys_a_beginner_should_know_each_with_a_comment_near(task):
    text = init_recipe(task)
    positions, lines = parse_recipe(text).positions, text.splitlines()
    for key in [
        "data.train", "data.valid", "data.tokenizer", "data.max_tokens", "model", "step.tokens_per_step",
        "step.tokens_per_micro_batch", "step.optimizer", "step.schedule", "step.clip", "length", "evaluate.every",
        "evaluate.best", "evaluate.patience", "checkpoint.every", "export", "seed",
    ]:  # fmt: skip
        assert lines[positions[key].line - 2].lstrip().startswith("#"), key


def test_the_starter_of_language_models_continues_texts_and_translates_nothing():
    recipe = parse_recipe(init_recipe("language_model")).recipe
    assert recipe.data.train[0].text == "train.txt"
    assert recipe.reads_texts
    assert not recipe.translates


@pytest.mark.parametrize(
    "target", [each for each in get_args(ExportTarget) if facts_of(each).takes("encoder_decoder")]
)
def test_what_it_describes_can_be_exported_for_every_target(target):
    recipe = parse_recipe(init_recipe(), overrides=[f"export=[{target}]"]).recipe
    assert obstacles(target, model=recipe.model, transforms=recipe.data.transforms) == []
    assert recipe.data.tokenizer.normalization == "nmt_nfkc"


@pytest.mark.parametrize(
    "target", [each for each in get_args(ExportTarget) if facts_of(each).takes("decoder")]
)
def test_what_the_one_of_language_models_describes_can_be_exported_too(target):
    recipe = parse_recipe(init_recipe("language_model")).recipe
    assert obstacles(target, model=recipe.model, transforms=recipe.data.transforms) == []
