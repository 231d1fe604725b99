import pytest

from tests.short_run import SHORT
from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab import launch
from trimtab.launch import train
from trimtab.training.preflight.every_check import of_the_data


@pytest.fixture(autouse=True)
def checks_of_data_only(monkeypatch, trained_run):
    """Runs of four steps take half as long without the checks of the model, which `trained_run` had."""
    monkeypatch.setattr(launch, "preflight", of_the_data)


@pytest.fixture
def recipe(tmp_path):
    """A recipe of four steps, one checkpoint at their end."""
    return small_recipe(tmp_path, **SHORT)


def test_a_run_tells_what_is_about_to_happen(recipe, tmp_path):
    told, texts = Told(), []
    told.message = texts.append
    train(recipe, out=tmp_path / "run", progress=told)
    assert (
        "256 target tokens a step in 2 packs; 200 pairs an epoch; peak rate 0.01; length 4 steps" in texts[-1]
    )
    train(recipe, overrides=["length=5 steps"], out=tmp_path / "run", resume=True, progress=told)
    assert texts[-1].endswith("length 5 steps; going on from step 4")
