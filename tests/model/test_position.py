import math

import torch

from trimtab.model.position import rotation_at, rotation_table, sinusoidal_table


def test_the_sinusoidal_table_is_the_papers_formula():
    table = sinusoidal_table(7, 8)
    for position in range(7):
        for i in range(4):
            angle = position / 10000 ** (i / 4)
            assert math.isclose(table[position, i], math.sin(angle), abs_tol=1e-6)
            assert math.isclose(table[position, 4 + i], math.cos(angle), abs_tol=1e-6)


def test_rotated_scores_depend_on_the_distance_alone():
    torch.manual_seed(0)
    table = rotation_table(50, 8)
    query, key = torch.randn(1, 1, 8), torch.randn(1, 1, 8)

    def score(a, b):
        turned = (
            rotation_at(table, torch.tensor([a])).rotate(query),
            rotation_at(table, torch.tensor([b])).rotate(key),
        )
        return (turned[0] * turned[1]).sum()

    torch.testing.assert_close(score(3, 1), score(40, 38))
    assert not torch.isclose(score(3, 1), score(3, 2))


def test_a_rotation_keeps_lengths_and_position_zero():
    table = rotation_table(50, 8)
    x = torch.randn(2, 3, 8)
    turned = rotation_at(table, torch.tensor([0, 17])).rotate(x)
    torch.testing.assert_close(turned[0], x[0])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))


def test_theta_is_the_wavelength_that_the_slowest_pair_nears():
    table = rotation_table(60, 8, theta=500.0)
    for position in range(60):
        for i in range(4):
            angle = position / 500 ** (2 * i / 8)
            assert math.isclose(table[position, i], math.cos(angle), abs_tol=1e-5)
            assert math.isclose(table[position, 4 + i], math.sin(angle), abs_tol=1e-5)
    assert torch.equal(rotation_table(60, 8), rotation_table(60, 8, theta=10000.0))
