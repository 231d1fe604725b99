import torch

from tests.streams import stream_of
from trimtab.model.positions.kind import Positions
from trimtab.model.positions.rotary import RotaryPositions


def test_a_kind_that_overrides_nothing_changes_nothing():
    positions, x, rows = Positions(), torch.randn(3, 8), torch.tensor([0, 1, 2])
    assert positions.embed(x, rows) is x
    assert positions.of_stream(stream_of([[4, 5, 3]])) == (None, None, None)
    assert (positions.table(), positions.rotary_table()) == (None, None)


def test_each_segment_of_a_stream_begins_at_position_zero():
    positions = RotaryPositions(num_positions=8, size=4, theta=100.0)
    cos, sin, _ = positions.of_stream(stream_of([[4, 5, 3], [6, 3]])).rotary
    table = positions.rotary_table()[[0, 1, 2, 0, 1]]
    assert torch.equal(torch.cat([cos, sin], -1)[:, 0], table)
