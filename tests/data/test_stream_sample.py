import pytest

from tests.small_run import small_recipe, small_sources, write_pairs
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets


def opened_again(recipe, folder):
    return open_datasets(recipe, tokenizer_folder=folder, progress=Silent())


def test_data_of_which_nothing_is_left_is_wrong_input(tmp_path):
    recipe, _ = small_sources(tmp_path)
    for transforms, reason in (
        ([{"kind": "length", "min": 7, "max": 9}], "length"),
        ([{"kind": "character_run", "max": 1}, {"kind": "length", "unit": "characters", "max": 1}], "length"),
    ):
        path = small_recipe(tmp_path, **{"data.transforms": transforms})
        filtered = resolve_paths(load_recipe(path))
        with pytest.raises(InputError, match="nothing is left to train on") as caught:
            opened_again(filtered, tmp_path / "tokenizer")
        (problem,) = caught.value.problems
        assert "the first 200 examples were all dropped" in problem.got
        assert reason in problem.got
    data = recipe.data.model_copy(update={"max_tokens": 2})
    with pytest.raises(InputError, match="too_long"):
        opened_again(recipe.model_copy(update={"data": data}), tmp_path / "tokenizer")


def test_a_part_that_is_dropped_is_in_the_sample_with_its_reason(tmp_path):
    pairs = [("the ship", "das schiff"), ("", "leer"), ("the boat", "\u200b"), ("the wind", "die luft")] * 30
    recipe, _ = small_sources(tmp_path)
    write_pairs(tmp_path, "train", pairs)
    sample = opened_again(recipe, tmp_path / "tokenizer").sample
    reasons = [example.reason for example in sample.dropped]
    assert (reasons.count("empty_source"), reasons.count("empty_target")) == (30, 30)
    assert len(sample.target) == 60
    assert sample.seen == 120
