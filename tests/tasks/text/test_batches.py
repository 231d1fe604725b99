import itertools

import pytest
import torch

from tests.small_run import small_parts, small_sources
from trimtab.tasks.text.batches import open_mixtures, plan_batches, with_vocabulary_sizes


def test_packs_have_one_shape_where_kernels_are_compiled_and_follow_their_rows_otherwise(tmp_path):
    recipe, sources = small_sources(tmp_path)
    plans = [
        plan_batches(recipe, sources, packed=packed, device=torch.device("cpu")) for packed in (True, False)
    ]
    assert [plan.shape.fixed for plan in plans] == [True, False]
    assert [plan.shape.sort for plan in plans] == [False, True]
    assert plans[0].resolved == {"source_tokens_per_micro_batch": plans[0].shape.source_slots}
    assert plans[0].symbols == sources.tokenizers.symbols


def test_a_recipe_has_the_sizes_that_its_vocabularies_came_out_with(tmp_path):
    recipe, sources = small_sources(tmp_path)
    assert with_vocabulary_sizes(recipe, sources).data.tokenizer.vocabulary_size == sources.tokenizer.num_ids


@pytest.mark.parametrize("step", [0, 3])
def test_a_mixture_is_opened_at_a_position_with_steps_as_large_as_their_number_says(tmp_path, step):
    growing = {"step.batch_warmup": {"start": 64, "over": "6 steps"}}
    parts = small_parts(tmp_path, **growing)
    mixture = parts.datasets.stages.mixtures[0]
    opened = open_mixtures(parts.recipe, parts.datasets)(mixture, 20, step)
    windows = list(itertools.islice(opened, 4))
    most = [parts.batching.tokens_at(step + number) for number in range(4)]
    assert all(room - 32 < window.num_targets <= room for window, room in zip(windows, most, strict=True))
    again = next(open_mixtures(parts.recipe, parts.datasets)(mixture, windows[0].position, step + 1))
    assert again.target.values.tolist() == windows[1].target.values.tolist()
