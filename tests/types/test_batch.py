from dataclasses import replace

import pytest
import torch

from tests.images import image_batches
from tests.streams import pack_of
from trimtab.types import Batch, fill

PACK = pack_of([[5, 3], [6, 7, 3]], [[8, 3], [9, 3]])
PREFIXED = replace(PACK, target=replace(PACK.target, prefix=torch.tensor([1, 0], dtype=torch.int32)))


@pytest.mark.parametrize("batch", [PACK, PREFIXED, *image_batches(3)], ids=["pack", "prefixed", "images"])
def test_a_clone_is_the_same_batch_in_memory_of_its_own(batch):
    assert isinstance(batch, Batch)
    clone = batch.clone()
    assert clone.static_key == batch.static_key
    assert (clone.num_targets, clone.num_tokens, clone.device) == (
        batch.num_targets,
        batch.num_tokens,
        batch.device,
    )
    for mine, theirs in zip(clone.tensors(), batch.tensors(), strict=True):
        assert torch.equal(mine, theirs)
        assert mine.data_ptr() != theirs.data_ptr()


def test_fill_weighs_batches_by_their_slots():
    short, long = image_batches(1, 3)
    assert fill([short, long]) == 1.0
    assert fill([PACK]) == 1.0
    assert fill([]) == 1.0  # a rank for which a step has no micro-batch
    assert fill([replace(PACK, num_tokens=5), PACK]) == 14 / 18


def test_what_is_no_batch_is_told_from_one():
    assert not isinstance(torch.zeros(3), Batch)
