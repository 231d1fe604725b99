import pytest

from tests.small_run import small_parts

GROWING = {
    "step.batch_warmup": {"start": 64, "over": "8 steps", "shape": "linear"},
    "step.tokens_per_micro_batch": 64,
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Built from the small recipe, not trained; nothing may be changed in them."""
    return small_parts(tmp_path_factory.mktemp("packing"))


def test_a_set_is_packed_whole(parts):
    valid = parts.datasets.valid["valid"]
    packs = list(parts.batching.pack_pairs(valid.source, valid.target))
    assert sum(pack.num_segments for pack in packs) == 24
    assert sum(pack.num_targets for pack in packs) == int(valid.target.offsets[-1])


def test_a_smaller_step_has_fewer_packs_of_the_same_size(tmp_path):
    packing = small_parts(tmp_path, **GROWING).batching
    assert [packing.tokens_at(step) for step in (0, 4, 8)] == [64, 160, 256]
    shapes = [packing.shape_at(step) for step in (0, 4, 8)]
    assert [shape.num_packs for shape in shapes] == [1, 3, packing.shape.num_packs] == [1, 3, 4]
    assert {shape.target_slots for shape in shapes} == {packing.shape.target_slots}


def test_the_packs_of_a_step_have_its_shape(parts):
    window, packs = next(parts.stream.host_batches(0))
    again = parts.batching.cut_at(window, 0)
    assert [pack.target.ids.tolist() for pack in again] == [pack.target.ids.tolist() for pack in packs]
