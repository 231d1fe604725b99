import pytest

from tests.for_each import for_each
from trimtab.config.export_targets import MODULE
from trimtab.config.load import parse_recipe
from trimtab.config.render import render_recipe
from trimtab.config.task_facts import facts_of, with_task_defaults
from trimtab.config.task_record import TASKS
from trimtab.errors import InputError

TEXT = """
task: language_model
data: {train: [{text: a.txt}]}
model: {kind: decoder, preset: tiny}
length: 1000 steps
"""


def test_a_language_model_has_defaults_of_its_own():
    recipe = parse_recipe(TEXT).recipe
    assert recipe.loss.label_smoothing == 0
    assert recipe.data.tokenizer.normalization == "identity"
    assert recipe.evaluate.metrics == ("perplexity", "byte_perplexity", "bits_per_byte")
    assert recipe.evaluate.best.metric == "loss"


def test_what_is_written_stays():
    written = "loss: {label_smoothing: 0.2}\nevaluate: {metrics: [loss], best: {metric: loss}}\n"
    recipe = parse_recipe(TEXT + written).recipe
    assert recipe.loss.label_smoothing == 0.2
    assert recipe.evaluate.metrics == ("loss",)


def test_a_translation_is_left_alone():
    tree = {"task": "translation", "data": {"train": []}}
    assert with_task_defaults(tree) == tree
    assert with_task_defaults({"seed": 1}) == {"seed": 1}


@for_each("tree", [3, None, [], {"task": "language_model", "data": 3, "loss": [], "evaluate": "x"}])
def test_what_is_no_recipe_is_left_for_others_to_complain_of(tree):
    assert with_task_defaults(tree) == tree


def test_bytes_have_no_normalization_to_fill_in():
    recipe = parse_recipe(TEXT.replace("a.txt}]", "a.txt}], tokenizer: {kind: bytes}")).recipe
    assert recipe.data.tokenizer.kind == "bytes"
    with pytest.raises(InputError, match="unknown key for the kind bytes"):
        parse_recipe(TEXT, overrides=["data.tokenizer.kind=bytes", "data.tokenizer.vocabulary_size=300"])


def test_a_resolved_recipe_reads_back_as_it_is():
    recipe = parse_recipe(TEXT).recipe
    assert parse_recipe(render_recipe(recipe)).recipe == recipe


def test_every_task_takes_kinds_of_model_that_no_other_takes_but_for_models_of_other_packages():
    shared = (MODULE, "x_transformers")
    kinds = [kind for task in TASKS for kind in facts_of(task).model_kinds if kind not in shared]
    assert len(kinds) == len(set(kinds)) >= len(TASKS)


def test_a_task_that_is_none_is_left_for_others_to_complain_of():
    for task in ("poetry", ["translation"], None):
        assert with_task_defaults({"task": task}) == {"task": task}
