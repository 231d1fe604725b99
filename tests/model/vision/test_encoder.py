import pytest
import torch

from trimtab.model.vision.encoder import keep_some, with_registers
from trimtab.types import Stream


def stream(lengths):
    boundaries = torch.tensor([0, *lengths]).cumsum(0)
    counts = torch.tensor(lengths)
    segments = torch.arange(len(lengths)).repeat_interleave(counts)
    positions = torch.arange(int(boundaries[-1])) - boundaries[segments]
    return Stream(torch.arange(len(positions)), positions, segments, boundaries.to(torch.int32), max(lengths))


def test_registers_come_before_each_segment_and_everything_else_keeps_its_order():
    old = stream([3, 0, 2])
    new, own, added = with_registers(old, 2)
    assert new.cu_seqlens.tolist() == [0, 5, 7, 11]
    assert new.segments.tolist() == [0] * 5 + [1] * 2 + [2] * 4
    assert new.positions.tolist() == [0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3]
    assert own.tolist() == [2, 3, 4, 9, 10]
    assert added.tolist() == [0, 1, 5, 6, 7, 8]
    assert new.max_seqlen == 5


def test_what_is_kept_has_the_mean_of_all():
    torch.manual_seed(1)
    segments = stream([1] * 4000)
    x, after = torch.zeros(4000, 1), torch.ones(4000, 1)
    found = keep_some(x, after, segments, dropped=0.25)
    assert found.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert abs(float(found.mean()) - 1) < 0.05
