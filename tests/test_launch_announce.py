import pytest

from tests.training.small_line import Told
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def test_a_run_tells_what_is_about_to_happen(recipe, tmp_path):
    told, texts = Told(), []
    told.message = texts.append
    train(recipe, out=tmp_path / "run", progress=told)
    announced, started = texts[-2:]
    assert (
        "256 target tokens a step in 2 packs; 200 pairs an epoch; peak learning rate 0.01; length 4 steps"
        in announced
    )
    assert started.startswith("started in ")
    train(recipe, overrides=["length=5 steps"], out=tmp_path / "run", resume=True, progress=told)
    assert texts[-2].endswith("length 5 steps; continuing from step 4")
