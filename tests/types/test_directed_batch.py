"""A micro-batch of packs with directions, as steps and recordings see it."""

import torch

from tests.model.modular.test_modular import NAMES, modular, packing_of, window_of
from trimtab.types import Batch, DirectedBatch


def batch_of(*lengths: tuple[int, int, int]) -> DirectedBatch:
    window = window_of(list(lengths))
    return packing_of(modular(mean_over="component"), window.num_targets).mixed(window, 1)[0]


def test_it_counts_what_its_packs_hold() -> None:
    batch = batch_of((3, 4, 0), (5, 6, 1), (2, 2, 1))
    assert isinstance(batch, Batch)
    assert (batch.num_targets, batch.num_tokens, batch.num_segments) == (12, 22, 3)
    assert [name for name, _ in batch.parts] == [NAMES[0], NAMES[1]]
    assert len(batch.labels) == sum(len(pack.labels) for pack in batch.packs)
    assert batch.max_seqlen >= 6


def test_a_recording_is_of_the_directions_and_the_shapes_but_not_the_factors() -> None:
    one, other = batch_of((3, 4, 0)), batch_of((3, 4, 1))
    assert one.static_key != other.static_key
    assert one.factors is not None
    copied = one.clone()
    assert copied.static_key == one.static_key
    assert all(torch.equal(a, b) for a, b in zip(one.tensors(), copied.tensors(), strict=True))
    assert copied.tensors()[-1] is not one.factors


def test_a_blank_batch_counts_nothing() -> None:
    batch = batch_of((3, 4, 0))
    assert batch.blank().num_targets == 0
    assert batch.blank().num_slots == batch.num_slots
