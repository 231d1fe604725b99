import torch

from trimtab.model.positions.learned import LearnedPositions


def test_vectors_are_added_at_their_scale_and_learn():
    positions = LearnedPositions(num_positions=7, dim=8, scale=3.0)
    x, rows = torch.randn(3, 8), torch.tensor([0, 6, 2])
    found = positions.embed(x, rows)
    torch.testing.assert_close(found, x + 3 * positions.weight[rows])
    torch.testing.assert_close(positions.table()[rows], found - x, atol=1e-5, rtol=1e-5)
    found.sum().backward()
    assert positions.weight.grad.sum(1).tolist() == [24, 0, 24, 0, 0, 0, 24]
    assert list(positions.state_dict()) == ["weight"]
