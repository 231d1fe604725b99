import pytest

from tests.config.tasks.recipes import PAIRS, TEXT, TRANSLATION, load, refused
from tests.for_each import for_each
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.config.loss import FeatureMatching
from trimtab.config.task_facts import init_recipe
from trimtab.config.tasks.contradictions import NO_TERMS, feature_contradictions, loss_contradictions
from trimtab.errors import InputError

CLASSIFIES = {
    "task": "classification",
    "model": {"kind": "encoder", "preset": "tiny"},
    "evaluate.metrics": None,
    "step.tokens_per_step": None,
}


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


NO_CROSS_ENTROPY = [("diffusion", {}), ("detection", {}), ("recognition", {"head": "ctc"})]


@pytest.mark.parametrize(("task", "model"), NO_CROSS_ENTROPY)
def test_a_task_with_another_loss_refuses_each_term_of_the_cross_entropy(tmp_path, task, model):
    """A term that is new is among them, unless another check names it."""
    (tmp_path / "recipe.yaml").write_text(init_recipe(task), encoding="utf-8")
    recipe = load_recipe(tmp_path / "recipe.yaml").recipe
    model = recipe.model.model_copy(update=model)
    given = {name: True for name in type(recipe.loss).model_fields if name not in NO_TERMS}
    assert given.keys() >= {"label_smoothing", "z_loss", "truncate"}
    loss = recipe.loss.model_copy(update=given)
    found = [*loss_contradictions(recipe.model_copy(update={"model": model, "loss": loss}))]
    assert [each.path for each in found] == [f"loss.{name}" for name in given]
    assert all("cross-entropy" in each.what and each.fix for each in found)


def test_a_task_without_a_vector_for_each_target_is_refused(tmp_path):
    changes = {**CLASSIFIES, "loss.feature_matching": {"teacher": "runs/teacher"}}
    with pytest.raises(InputError, match="one vector for each target") as found:
        load_recipe(small_recipe(tmp_path, **changes))
    assert "loss.feature_matching" in str(found.value)


def test_kinds_of_models_that_do_not_learn_from_a_teacher_are_refused(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path)).recipe
    matching = recipe.loss.model_copy(update={"feature_matching": FeatureMatching(teacher="runs/teacher")})
    model = recipe.model.model_copy(update={"kind": "transformers"})
    (complaint,) = feature_contradictions(recipe.model_copy(update={"loss": matching, "model": model}))
    assert "transformers" in complaint.got
    assert not [*feature_contradictions(recipe.model_copy(update={"loss": matching}))]
    assert not [*feature_contradictions(recipe)]
