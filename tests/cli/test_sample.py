import json

import pytest

from tests.diffusion_run import diffusion_recipe
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.fixture(scope="module")
def run(own_cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("diffuser")
    changes = {"length": "6 steps", "evaluate.every": "6 steps", "evaluate.samples": 0}
    return train(diffusion_recipe(folder, **changes), out=folder / "run").run


@pytest.mark.slow
def test_classes_that_are_named_are_sampled_as_often_as_asked(run, tmp_path, call):
    out = tmp_path / "out"
    told = call(
        "sample", run, "--class", "square", "--count", 2, "--steps", 2, "--sampler", "ddim", "--out", out
    )
    assert told.exit_code == 0, told.stderr
    assert "2 images in" in told.stdout
    lines = [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]
    assert lines == [{"image": f"0000{each}.png", "label": "square"} for each in range(2)]
    assert {each.name for each in out.iterdir()} == {"00000.png", "00001.png", "grid.png", "samples.jsonl"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--class", "triangle"), "disk, square"),
        (("--guidance", "-1"), "--guidance: out of range"),
        (("--steps", "many"), "--steps: not a whole number"),
    ],
)
def test_wrong_input_is_told(run, tmp_path, call, given, words):
    told = call("sample", run, *given, "--out", tmp_path / "out")
    assert told.exit_code == 2
    assert words in told.stderr
    assert not (tmp_path / "out").exists()
