from dataclasses import replace

import pytest
import torch

from trimtab.flow import Pack, Stream


def stream() -> Stream:
    return Stream(
        torch.tensor([5, 6, 7]), torch.tensor([0, 1, 0]), torch.tensor([0, 0, 1]),
        torch.tensor([0, 2, 3], dtype=torch.int32), longest=2,
    )  # fmt: skip


def test_a_pack_moves_as_a_whole():
    pack = Pack(stream(), stream(), torch.tensor([6, 7, 8]), num_segments=2, num_targets=3, num_tokens=6)
    moved = pack.to(torch.device("meta"))
    assert {moved.source.ids.device.type, moved.target.boundaries.device.type, moved.labels.device.type} == {
        "meta"
    }
    assert (moved.num_segments, moved.num_targets, moved.num_tokens, moved.source.longest) == (2, 3, 6, 2)


def test_a_prefix_moves_with_its_stream_and_may_be_missing():
    prefix = torch.tensor([1, 0], dtype=torch.int32)
    whole = replace(stream(), prefix=prefix)
    assert whole.to(torch.device("meta")).prefix.device.type == "meta"
    assert torch.equal(whole.to(torch.device("cpu")).prefix, prefix)
    assert stream().to(torch.device("meta")).prefix is None


@pytest.mark.gpu
def test_a_pack_can_be_pinned():
    pack = Pack(
        stream(), stream(), torch.tensor([6, 7, 8]), num_segments=2, num_targets=3, num_tokens=6
    ).pin()
    assert pack.labels.is_pinned()
    assert pack.source.ids.is_pinned()
