import torch

from trimtab.training.preflight.weights import gathered, named


def test_gathered_gradients_have_zeros_where_there_is_none(parts):
    first = next(parts.model.parameters())
    first.grad = torch.ones_like(first)
    vector = gathered(parts.model)
    assert len(vector) == parts.model.num_parameters()
    assert vector.sum() == first.numel()
    assert first.grad is None


def test_long_lists_of_names_are_cut():
    assert named(["a", "b"]) == "a, b"
    assert named(["a", "b", "c", "d"], of=9) == "a, b, c and 1 more (4 of 9)"
