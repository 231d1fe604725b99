import torch

from trimtab.step.loss_scale import LossScale

CPU = torch.device("cpu")


def test_it_halves_on_overflow_and_doubles_after_patience():
    scale = LossScale(enabled=True, device=CPU, start=8.0, patience=3)
    seen = []
    for skipped in (True, False, False, False, False, True):
        scale.after(torch.tensor(skipped))
        seen.append(float(scale.factor))
    assert seen == [4, 4, 4, 8, 8, 4]


def test_scaled_and_unscaled_gradients_agree():
    scale = LossScale(enabled=True, device=CPU, start=1024.0)
    x = torch.tensor(3.0, requires_grad=True)
    scale.up(x**2).backward()
    assert float(x.grad * scale.inverse) == 6


def test_it_goes_on_from_a_checkpoint_and_is_nothing_when_off():
    scale = LossScale(enabled=True, device=CPU, start=8.0, patience=3)
    scale.after(torch.tensor(False))
    other = LossScale(enabled=True, device=CPU, patience=3)
    other.from_dict(scale.to_dict())
    assert other.to_dict() == scale.to_dict() == {"factor": 8.0, "good_steps": 1.0}
    off = LossScale(enabled=False, device=CPU)
    off.after(torch.tensor(True))
    assert off.to_dict() == {}
    assert off.inverse is None
