import pytest

from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.errors import RunFailed
from trimtab.launch import smoke
from trimtab.training import smoke as stage
from trimtab.training.smoke import overfit_recipe, tell


@pytest.mark.slow
def test_a_line_that_works_learns_one_window_by_heart(tmp_path):
    assert smoke(small_recipe(tmp_path)) < 1.0


@pytest.mark.slow
def test_weights_that_do_not_move_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "LEAST_RATE", 0.0)
    recipe = small_recipe(tmp_path)
    with pytest.raises(RunFailed, match=r"the loss went from (\d\.\d+) to \1 in 600 steps"):
        smoke(recipe, overrides=["step.optimizer.learning_rate=1e-12"])


@pytest.mark.slow
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
    healthy = parts.stepper.objective

    def objective(pack):
        out = healthy(pack)
        return type(out)(out.objective * float("nan"), out.loss * float("nan"))

    parts.stepper.objective = objective
    return parts


@pytest.mark.slow
def test_nothing_is_left_behind(tmp_path):
    recipe = small_recipe(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    smoke(recipe)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_recipe_is_made_small_and_keeps_the_rest(tmp_path):
    changes = {"step.tokens_per_step": 50000, "loss.label_smoothing": 0.1, "model.dropout": 0.3}
    recipe = load_recipe(small_recipe(tmp_path, **changes)).recipe
    made = overfit_recipe(recipe, most=2048)
    assert (made.step.tokens_per_step, made.step.tokens_per_micro_batch) == (2048, 2048)
    assert overfit_recipe(recipe, most=256).step.tokens_per_step == 256
    assert (made.loss.label_smoothing, made.model.dropout, made.step.compile) == (0.0, 0.0, "off")
    assert made.step.optimizer == recipe.step.optimizer
    assert (made.model.dim, made.data) == (recipe.model.dim, recipe.data)


def test_a_window_is_never_smaller_than_the_longest_example(tmp_path):
    changes = {"step.tokens_per_step": 5000, "step.tokens_per_micro_batch": 5000, "data.max_tokens": 4096}
    recipe = load_recipe(small_recipe(tmp_path, **changes)).recipe
    assert overfit_recipe(recipe, most=2048).step.tokens_per_step == 4096


def test_a_rate_for_thousands_of_steps_is_raised_for_these_few(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path, **{"step.optimizer.learning_rate": 1e-5})).recipe
    assert overfit_recipe(recipe, most=2048).step.optimizer.learning_rate == stage.LEAST_RATE


@pytest.mark.parametrize(
    ("rate", "multiplier", "wanted"),
    [(1e-5, 0.01, 1.0), (1e-2, 0.01, 0.1), (1e-2, 0.5, 0.5), (1e-2, 4.0, 4.0)],
)
def test_the_rate_of_no_role_is_too_low_for_these_few(tmp_path, rate, multiplier, wanted):
    optimizer = {"kind": "adamw", "learning_rate": rate, "learning_rate_multipliers": {"hidden": multiplier}}
    recipe = load_recipe(small_recipe(tmp_path, **{"step.optimizer": optimizer})).recipe
    made = overfit_recipe(recipe, most=2048).step.optimizer
    assert made.learning_rate_multipliers.hidden == pytest.approx(wanted)
    assert made.learning_rate_multipliers.vector == 1


def test_factors_of_layers_and_of_groups_stay(tmp_path):
    multipliers = {"layer_decay": 0.9, "names": {"*": 0.5}}
    optimizer = {"kind": "adamw", "learning_rate": 1e-2, "learning_rate_multipliers": multipliers}
    recipe = load_recipe(small_recipe(tmp_path, **{"step.optimizer": optimizer})).recipe
    assert overfit_recipe(recipe, most=2048).step.optimizer == recipe.step.optimizer


@pytest.mark.slow
def test_it_tells_how_the_loss_falls(tmp_path):
    told, texts = Told(), []
    told.message = texts.append
    last = smoke(small_recipe(tmp_path), progress=told)
    assert texts[-1] == f"smoke step 60: loss {last:.3f}"


@pytest.mark.slow
def test_on_a_cpu_the_window_is_small_and_every_step_tells_how_long_the_rest_takes(tmp_path):
    told, texts, left = Told(), [], []
    told.message = texts.append
    told.step = lambda metrics, *, share, seconds_left: left.append((metrics["step"], share, seconds_left))
    smoke(small_recipe(tmp_path, **{"step.tokens_per_step": 8192}), progress=told)
    (said,) = [text for text in texts if text.startswith("overfitting ")]
    assert 256 < int(said.split()[1]) <= 512
    assert [step for step, _, _ in left] == list(range(1, 60))
    assert left[0] == (1, 1 / 60, None)
    assert all(seconds > 0 for _, _, seconds in left[1:])


def test_what_is_left_follows_from_the_steps_after_the_first():
    told, seen = Told(), []
    told.step = lambda metrics, *, share, seconds_left: seen.append((share, seconds_left))
    tell(told, 1.0, [100.0, 102.0, 104.0])
    tell(told, 1.0, [100.0 + 2 * step for step in range(60)])
    assert seen == [(3 / 60, 57 * 2.0), (60 / 600, 540 * 2.0)]
