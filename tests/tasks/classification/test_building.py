from itertools import islice

import torch

from trimtab.tasks.classification.batches import LabelledTexts
from trimtab.tasks.classification.building import (
    build_classifier,
    open_mixtures,
    plan_batches,
    with_vocabulary_size,
)


def test_steps_have_so_many_examples_and_go_on_from_any_position(opened):
    recipe, datasets = opened
    stream = open_mixtures(recipe, datasets)
    windows = [*islice(stream(datasets.stages.at(0), 0, 0), 8)]
    assert all(isinstance(window, LabelledTexts) for window in windows)
    assert [window.num_targets for window in windows] == [32] * 8
    assert windows[0].num_tokens == int(windows[0].source.lengths.sum())
    again = next(stream(datasets.stages.at(0), windows[3].position, 4))
    assert again.line.tolist() == windows[4].line.tolist()


def test_batches_hold_a_step(opened):
    recipe, datasets = opened
    batching = plan_batches(recipe, datasets, packed=False, device=torch.device("cpu"))
    window = next(open_mixtures(recipe, datasets)(datasets.stages.at(0), 0, 0))
    batches = batching.cut_at(window, 0)
    assert sum(batch.num_targets for batch in batches) == 32
    assert batching.num_batches == 2 <= len(batches)
    assert batching.tokens_at(0) == 32
    assert batching.resolved == {"source_tokens_per_micro_batch": batching.shape.slots}


def test_the_model_has_the_sizes_of_the_data(opened):
    recipe, datasets = opened
    model = build_classifier(recipe, datasets, device=torch.device("cpu"))
    assert model.num_ids == 3
    assert len(model.embedding.weight) >= datasets.tokenizer.num_ids
    assert model.max_positions == 64
    assert with_vocabulary_size(recipe, datasets).data.tokenizer.vocabulary_size == datasets.tokenizer.num_ids
