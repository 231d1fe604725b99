import pytest
import torch

from tests.training.small_line import equal, small_line, snapshot
from trimtab.training.preflight.restored_weights import state_restored, weights_put_back, with_own_moments


def test_gradients_modes_and_random_numbers_come_back_even_after_a_failure(parts):
    weight = parts.model.embedding.weight
    weight.grad = torch.ones_like(weight)
    given, drawn = weight.grad, torch.get_rng_state()

    def look():
        with state_restored(parts):
            assert weight.grad is None
            weight.grad = torch.zeros_like(weight)
            parts.model.eval()
            torch.manual_seed(5)
            raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        look()
    assert weight.grad is given
    assert given.eq(1).all()
    assert parts.model.training
    assert torch.equal(torch.get_rng_state(), drawn)


def test_weights_and_tables_come_back_even_after_a_failure(parts):
    tensors = dict([*parts.model.named_parameters(), *parts.model.named_buffers()])
    before = snapshot(tensors)

    def look():
        with weights_put_back(parts) as saved, torch.no_grad():
            assert equal(saved, before)
            for tensor in tensors.values():
                tensor.fill_(7)
            raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        look()
    assert equal(before, tensors)


@pytest.mark.quick("changes0")
@pytest.mark.parametrize(
    "changes",
    [
        {"step.optimizer": {"kind": kind, "learning_rate": 1e-3}, "step.weight_clip": clip}
        for kind, clip in (("adamw", None), ("adamw", 2), ("adafactor", None), ("lion", None), ("sgd", None))
    ],
)
def test_an_optimizer_with_its_own_moments_moves_the_same_weights(tmp_path, changes):
    line = small_line(tmp_path, **{"length": "2 steps", "evaluate.every": "50 steps", **changes})
    line.train()
    parts = line.parts
    moments, copy = snapshot(parts.stepper.optimizer.state_tensors()), with_own_moments(parts)
    assert [id(each) for each in copy.parameters] == [id(each) for each in parts.stepper.optimizer.parameters]
    assert equal(snapshot(copy.state_tensors()), moments)
    weights = line.weights()
    for each in copy.parameters:
        each.grad = torch.ones_like(each)
    copy.update(learning_rate=1e-2, skip=torch.tensor(False))
    assert not equal(weights, line.weights())
    assert equal(moments, parts.stepper.optimizer.state_tensors())
    assert not equal(moments, copy.state_tensors())
