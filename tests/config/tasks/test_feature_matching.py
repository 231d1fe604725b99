import pytest

from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.config.loss import FeatureMatching
from trimtab.config.tasks.feature_matching import feature_contradictions
from trimtab.errors import InputError

CLASSIFIES = {
    "task": "classification",
    "model": {"kind": "encoder", "preset": "tiny"},
    "evaluate.metrics": None,
    "step.tokens_per_step": None,
}


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
