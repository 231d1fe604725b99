import pytest

from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.errors import RunFailed
from trimtab.launch import smoke
from trimtab.training import smoke as stage
from trimtab.training.smoke import small


def test_a_line_that_works_learns_one_window_by_heart(tmp_path):
    assert smoke(small_recipe(tmp_path)) < 1.0


def test_weights_that_do_not_move_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "LEAST_RATE", 0.0)
    recipe = small_recipe(tmp_path)
    with pytest.raises(RunFailed, match=r"the loss went from (\d\.\d+) to \1 in 600 steps"):
        smoke(recipe, overrides=["step.optimizer.learning_rate=1e-12"])


def test_a_small_rate_is_given_more_steps_while_the_loss_falls(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "LEAST_RATE", 0.0)
    told, texts = Told(), []
    told.message = texts.append
    smoke(small_recipe(tmp_path), overrides=["step.optimizer.learning_rate=8e-4"], progress=told)
    assert 60 < int(texts[-1].split()[2].rstrip(":")) <= 600


def test_a_loss_that_is_no_number_ends_it_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "build", lambda recipe, sources: poisoned(build(recipe, sources)))
    with pytest.raises(RunFailed, match="in 1 steps"):
        smoke(small_recipe(tmp_path))


def poisoned(parts):
    healthy = parts.objective

    def objective(pack):
        out = healthy(pack)
        return type(out)(out.objective * float("nan"), out.loss * float("nan"))

    parts.objective = objective
    return parts


def test_nothing_is_left_behind(tmp_path):
    recipe = small_recipe(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    smoke(recipe)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_recipe_is_made_small_and_keeps_the_rest(tmp_path):
    changes = {"step.tokens_per_step": 50000, "loss.label_smoothing": 0.1, "model.dropout": 0.3}
    recipe = load_recipe(small_recipe(tmp_path, **changes)).recipe
    made = small(recipe)
    assert (made.step.tokens_per_step, made.step.tokens_per_micro_batch) == (2048, 2048)
    assert (made.loss.label_smoothing, made.model.dropout, made.step.compile) == (0.0, 0.0, "off")
    assert made.step.optimizer == recipe.step.optimizer
    assert (made.model.dim, made.data) == (recipe.model.dim, recipe.data)


def test_a_window_is_never_smaller_than_the_longest_example(tmp_path):
    changes = {"step.tokens_per_step": 5000, "step.tokens_per_micro_batch": 5000, "data.max_tokens": 4096}
    assert small(load_recipe(small_recipe(tmp_path, **changes)).recipe).step.tokens_per_step == 4096


def test_a_rate_for_thousands_of_steps_is_raised_for_these_few(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path, **{"step.optimizer.learning_rate": 1e-5})).recipe
    assert small(recipe).step.optimizer.learning_rate == stage.LEAST_RATE


def test_it_tells_how_the_loss_falls(tmp_path):
    told, texts = Told(), []
    told.message = texts.append
    last = smoke(small_recipe(tmp_path), progress=told)
    assert texts[-1] == f"smoke step 60: loss {last:.3f}"
