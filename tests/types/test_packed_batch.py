from dataclasses import replace

import pytest
import torch

from tests.streams import pack_of
from trimtab.types import PackedBatch, Stream


def stream() -> Stream:
    return Stream(
        torch.tensor([5, 6, 7]), torch.tensor([0, 1, 0]), torch.tensor([0, 0, 1]),
        torch.tensor([0, 2, 3], dtype=torch.int32), max_seqlen=2,
    )  # fmt: skip


def test_a_pack_moves_as_a_whole():
    pack = PackedBatch(
        stream(), stream(), torch.tensor([6, 7, 8]), num_segments=2, num_targets=3, num_tokens=6
    )
    moved = pack.to(torch.device("meta"))
    assert {moved.source.ids.device.type, moved.target.cu_seqlens.device.type, moved.labels.device.type} == {
        "meta"
    }
    assert (moved.num_segments, moved.num_targets, moved.num_tokens, moved.source.max_seqlen) == (2, 3, 6, 2)


def test_a_prefix_moves_with_its_stream_and_may_be_missing():
    prefix = torch.tensor([1, 0], dtype=torch.int32)
    whole = replace(stream(), prefix=prefix)
    assert whole.to(torch.device("meta")).prefix.device.type == "meta"
    assert torch.equal(whole.to(torch.device("cpu")).prefix, prefix)
    assert stream().to(torch.device("meta")).prefix is None


@pytest.mark.gpu
def test_a_pack_can_be_pinned():
    pack = PackedBatch(
        stream(), stream(), torch.tensor([6, 7, 8]), num_segments=2, num_targets=3, num_tokens=6
    ).pin()
    assert pack.labels.is_pinned()
    assert pack.source.ids.is_pinned()


def test_packs_of_one_shape_are_told_from_others_by_their_tensors_and_their_longest_segment():
    pack = pack_of([[5, 3], [6, 7, 3]], [[8, 3], [9, 3]])
    assert pack.static_key == pack_of([[6, 3], [5, 4, 3]], [[7, 3], [5, 3]]).static_key
    assert pack.static_key == replace(pack, num_targets=1, num_tokens=2).static_key
    assert pack.static_key != pack_of([[5, 3], [6, 3]], [[8, 3], [9, 3]]).static_key
    assert pack.static_key != pack_of([[5, 3], [6, 7, 3]], [[8, 3], [9, 3]], max_seqlen=64).static_key


def test_a_pack_gives_all_its_tensors_and_the_share_of_its_slots_in_use():
    pack = pack_of([[5, 3]], [[8, 9, 3]])
    assert len(pack.tensors()) == 9
    assert (
        len(replace(pack, target=replace(pack.target, prefix=torch.tensor([1], dtype=torch.int32))).tensors())
        == 10
    )
    assert (pack.num_slots, pack.fill, replace(pack, num_tokens=1).fill) == (5, 1.0, 0.2)
