import math

import torch

from trimtab.model.positions.sinusoidal import SinusoidalPositions, sinusoidal_table


def test_the_sinusoidal_table_is_the_papers_formula():
    table = sinusoidal_table(7, 8)
    for position in range(7):
        for i in range(4):
            angle = position / 10000 ** (i / 4)
            assert math.isclose(table[position, i], math.sin(angle), abs_tol=1e-6)
            assert math.isclose(table[position, 4 + i], math.cos(angle), abs_tol=1e-6)


def test_sines_are_added_at_their_scale_and_are_no_weights():
    positions = SinusoidalPositions(num_positions=7, dim=8, scale=0.5)
    x = torch.randn(3, 8)
    found = positions.embed(x, torch.tensor([0, 6, 2]))
    torch.testing.assert_close(found, x + 0.5 * sinusoidal_table(7, 8)[[0, 6, 2]])
    assert torch.equal(positions.table(), 0.5 * sinusoidal_table(7, 8))
    assert not positions.state_dict()
