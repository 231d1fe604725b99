import json

import pytest

from tests.cli.refusal import has_four_parts, refused
from tests.small_run import small_recipe
from tests.tuning.test_picture import a_range
from trimtab.tuning import learning_rate


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return small_recipe(tmp_path_factory.mktemp("find"))


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(learning_rate, "find_learning_rate", lambda recipe, **options: a_range())


def test_rates_are_shown_and_drawn_and_the_suggestion_can_be_pasted(call, found, tmp_path):
    plot = tmp_path / "rates.svg"
    result = call("find", "learning-rate", "my.yaml", "--plot", plot)
    assert result.exit_code == 0, result.output
    assert "suggested: step.optimizer.learning_rate=0.01 (the recipe has 0.001)" in result.stdout
    assert plot.read_text(encoding="utf-8").startswith("<svg")
    values = json.loads(call("find", "learning-rate", "my.yaml", "--json").stdout)
    assert (values["suggested"], values["tried"][-1]["loss"]) == (0.01, None)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["learning-rate", "RECIPE", "--lowest", "1", "--highest", "0.1"], "--lowest"),
        (["learning-rate", "RECIPE", "--lowest", "nan"], "--lowest"),
        (["learning-rate", "RECIPE", "--highest", "1e9"], "--highest"),
        (["learning-rate", "RECIPE", "--steps", "1"], "--steps"),
        (["learning-rate", "RECIPE", "--plot", "rates.png"], ".svg"),
        (["learning-rate", "RECIPE", "--plot", "not/there/rates.svg"], "no folder"),
        (["learning-rate", "no.yaml"], "no.yaml"),
        (["learning-rate", "runs/none@last"], "runs/none"),
        (["learning-rate", "."], "run"),
        (["noise-scale", "RECIPE", "step.tokens_per_step=8"], "tokens_per_step"),
        (["noise-scale", "RECIPE", "--steps", "0"], "--steps"),
        (["micro-batch", "RECIPE", "--memory", "24"], "has no unit"),
        (["micro-batch", "RECIPE", "step.tokens=3"], "step.tokens"),
        (["rank", "RECIPE"], "adapter"),
    ],
)
def test_wrong_input_is_refused_with_a_fix(call, recipe, arguments, word):
    arguments = [str(recipe) if each == "RECIPE" else each for each in arguments]
    assert has_four_parts(refused(call("find", *arguments), word))
