import pytest

from tests.config.tasks.recipes import PAIRS, TEXT, TRANSLATION, load, refused
from tests.for_each import for_each
from trimtab.errors import InputError


@pytest.mark.parametrize("kind", [TEXT, PAIRS, TRANSLATION])
def test_what_belongs_together_loads(kind):
    assert load(kind).recipe.task == kind["task"]


@for_each(
    ("kind", "changes", "path", "what"),
    [
        (TRANSLATION, {"model": "{kind: decoder, preset: tiny}"}, "model.kind", "reads no source apart"),
        (TEXT, {"model": "{kind: encoder_decoder, preset: tiny}"}, "model.kind", "has no encoder"),
        (
            TRANSLATION,
            {"evaluate.metrics": "[bleu, chrf, perplexity]"},
            "evaluate.metrics.2",
            "of language models",
        ),
        (
            TEXT,
            {"evaluate.metrics": "[perplexity, bleu]"},
            "evaluate.metrics.1",
            "texts translates nothing",
        ),
        (TEXT, {"evaluate.best.metric": "chrf"}, "evaluate.best.metric", "not measured"),
    ],
)
def test_a_model_or_metric_of_another_task_is_refused_with_its_place(kind, changes, path, what):
    refused(kind, changes, path, what)


def test_the_task_that_takes_the_kind_of_model_is_named():
    with pytest.raises(InputError, match=r"set `model\.kind: encoder_decoder`, or `task: language_model`"):
        load(TRANSLATION, model="{kind: decoder, preset: tiny}")
    with pytest.raises(InputError, match=r"set `model\.kind: decoder`, or `task: translation`"):
        load(TEXT, model="{kind: encoder_decoder, preset: tiny}")


def test_a_model_without_a_kind_is_that_of_the_task():
    assert load(TEXT, model="{preset: tiny}").recipe.model.kind == "decoder"
    assert load(TRANSLATION, model="{preset: tiny}").recipe.model.kind == "encoder_decoder"
