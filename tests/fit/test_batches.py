from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fit.planning import pairs_recipe, text_recipe
from trimtab.config.load import load_recipe
from trimtab.data.shape import plan_shape
from trimtab.fit.batches import ratio_of_sides, slots_of


@settings(deadline=None, max_examples=15)
@given(st.integers(64, 40000), st.integers(1, 12), st.integers(8, 512))
def test_slots_of_texts_are_those_of_the_packs(micro, count, longest):
    longest = min(longest, micro)
    step = {"tokens_per_step": micro * count - count // 3, "tokens_per_micro_batch": micro}
    recipe = text_recipe().model_copy()
    recipe = recipe.model_copy(
        update={
            "step": recipe.step.model_copy(update=step),
            "data": recipe.data.model_copy(update={"max_tokens": longest}),
        }
    )
    lengths = (np.zeros(50, int), np.full(50, longest))
    packs = plan_shape(**step, lengths=lengths, max_tokens=longest, fixed=True, sort=False)
    slots = slots_of(recipe, Path())
    assert (slots.target, slots.source, slots.micro_batches) == (packs.target_slots, 0, packs.num_packs)
    assert slots.longest == packs.target_max_seqlen


def test_slots_of_the_source_that_a_run_has_found_are_taken():
    slots = slots_of(pairs_recipe(step__source_tokens_per_micro_batch=9024), Path())
    assert (slots.source, slots.assumed_source) == (9024, False)
    assert slots_of(pairs_recipe(), Path()).assumed_source


def test_the_source_is_guessed_from_the_sizes_of_the_files(tmp_path):
    (tmp_path / "train.en").write_text("a" * 3000, encoding="utf-8")
    (tmp_path / "train.de").write_text("a" * 2000, encoding="utf-8")
    recipe = pairs_recipe()
    assert ratio_of_sides(recipe, tmp_path) == pytest.approx(1.5)
    assert ratio_of_sides(recipe, tmp_path / "nowhere") == 1.0
    assert slots_of(recipe, tmp_path).source > slots_of(recipe, tmp_path / "nowhere").source


def test_a_micro_batch_of_labelled_texts_counts_examples():
    tree = {
        "task": "classification",
        "data": {"train": [{"source": "texts", "target": "labels"}], "max_tokens": 128},
        "model": {"preset": "tiny"},
        "length": "10 steps",
    }
    slots = slots_of(load_recipe(tree).recipe, Path())
    assert slots.target == 0
    assert slots.source >= 256 * 32
    assert 256 <= slots.targets < 400
