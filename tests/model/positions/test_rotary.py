import math

import torch

from trimtab.model.positions.rotary import RotaryPositions, rotary_table


def positions(*, theta=10000.0):
    return RotaryPositions(num_positions=60, size=8, theta=theta)


def test_rotated_scores_depend_on_the_distance_alone():
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 8), torch.randn(1, 1, 8)

    def score(a, b):
        rotated = (
            positions().rotate(torch.tensor([a])).rotate(query),
            positions().rotate(torch.tensor([b])).rotate(key),
        )
        return (rotated[0] * rotated[1]).sum()

    torch.testing.assert_close(score(3, 1), score(40, 38))
    assert not torch.isclose(score(3, 1), score(3, 2))


def test_a_rotation_keeps_lengths_and_position_zero():
    x = torch.randn(2, 3, 8)
    rotated = positions().rotate(torch.tensor([0, 17])).rotate(x)
    torch.testing.assert_close(rotated[0], x[0])
    torch.testing.assert_close(rotated.norm(dim=-1), x.norm(dim=-1))


def test_theta_is_the_wavelength_that_the_slowest_pair_nears():
    table = positions(theta=500.0).rotary_table()
    for position in range(60):
        for i in range(4):
            angle = position / 500 ** (2 * i / 8)
            assert math.isclose(table[position, i], math.cos(angle), abs_tol=1e-5)
            assert math.isclose(table[position, 4 + i], math.sin(angle), abs_tol=1e-5)
    assert torch.equal(rotary_table(60, 8, theta=500.0), table)


def test_angles_of_a_half_copy_are_those_of_the_original():
    original = positions()
    narrow = positions().to(torch.bfloat16)
    narrow.keep_precision(original)
    assert narrow.rotary_table() is original.rotary_table()
    assert narrow.rotary_table().dtype == torch.float32


def test_rotated_values_depend_on_the_distance_alone():
    rotary = RotaryPositions(num_positions=60, size=8, theta=100.0, values=True)
    value = torch.randn(1, 1, 8)

    def taken(query, key):
        return rotary.rotate(torch.tensor([query])).rotate_back(
            rotary.rotate(torch.tensor([key])).rotate(value)
        )

    torch.testing.assert_close(taken(3, 1), taken(40, 38))
    torch.testing.assert_close(taken(7, 7), value)
    assert not torch.allclose(taken(3, 1), taken(3, 2))
    assert rotary.rotate(torch.tensor([3])).values
    assert not positions().rotate(torch.tensor([3])).values
