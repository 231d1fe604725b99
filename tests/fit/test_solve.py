import pytest

from tests.fit.planning import card, pairs_recipe, subject_of, text_recipe
from trimtab.errors import InputError
from trimtab.fit.solve import solve


@pytest.mark.parametrize("size", ["batch", "length", "dim"])
@pytest.mark.parametrize("make", [text_recipe, pairs_recipe])
def test_the_largest_that_fits_fits_and_the_next_one_does_not(size, make):
    recipe = make(step__tokens_per_step=10**6)
    situation = subject_of(recipe).on(card(9.0))
    solved = solve(situation, size)
    assert solved.plan.peak <= situation.gpu.memory
    larger = {
        "batch": {"step__tokens_per_micro_batch": solved.value + 2048},
        "length": {"data__max_tokens": min(65536, solved.value * 2)},
        "dim": {"model__dim": solved.value + 512},
    }[size]
    if size == "length":
        larger |= {"step__tokens_per_micro_batch": max(8192, solved.value * 2)}
    if size == "dim":
        larger |= {
            "model__feed_forward": recipe.model.feed_forward * (solved.value + 512) // recipe.model.dim
        }
    if solved.value < 65536:
        changed = make(step__tokens_per_step=10**6, **larger)
        assert not situation.fits(subject_of(changed).on(card(9.0)).planned(changed))


def test_a_step_is_never_enlarged_for_a_micro_batch():
    solved = solve(subject_of(text_recipe(step__tokens_per_step=4096)).on(card(80.0)), "batch")
    assert solved.value == 4096


def test_sizes_that_a_recipe_does_not_have_are_refused():
    with pytest.raises(InputError, match="no adapter"):
        solve(subject_of(text_recipe()).on(card(9.0)), "rank")


def test_where_not_even_the_smallest_fits_it_is_told():
    with pytest.raises(InputError, match="not even the smallest"):
        solve(subject_of(text_recipe(model__preset="big")).on(card(4.0)), "batch")


def test_the_largest_rank(tmp_path):
    from tests.pretrained_folder import pretrained_folder
    from trimtab.config.load import load_recipe

    tree = {
        "task": "language_model",
        "data": {"train": [{"text": "train.txt"}], "max_tokens": 64},
        "model": {"kind": "pretrained", "path": str(pretrained_folder(tmp_path / "model"))},
        "adapter": {"kind": "lora"},
        "length": "10 steps",
    }
    recipe = load_recipe(tree).recipe
    assert 0 < solve(subject_of(recipe).on(card(1.1)), "rank").value < 4096
    assert solve(subject_of(recipe).on(card(80.0)), "rank").value == 4096
