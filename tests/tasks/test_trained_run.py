import pytest

from trimtab.errors import InputError
from trimtab.tasks.trained_run import trained_run


@pytest.fixture
def run_of_pairs(request):
    return request.getfixturevalue("trained_run")


def test_a_run_of_another_task_is_refused_and_one_of_this_task_has_its_recipe(run_of_pairs):
    with pytest.raises(InputError, match="no detector") as caught:
        trained_run(run_of_pairs, task="detection", kind="detector")
    (problem,) = caught.value.problems
    assert "task: translation" in problem.got
    found = trained_run(run_of_pairs, task="translation", kind="translator")
    assert found.recipe.task == "translation"
    found.check_trained_with(
        found.checkpoint.fingerprints["tokenizer"], name="tokenizer", what="pieces", got=""
    )
    with pytest.raises(InputError, match="not the pieces that the model was trained with"):
        found.check_trained_with("other", name="tokenizer", what="pieces", got="other ones")
