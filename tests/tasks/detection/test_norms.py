import pytest
import torch
from torch import nn

from trimtab.distributed import ONE_RANK
from trimtab.tasks.detection.norms import BatchStatistics, StepBatchNorm, replace_norms

APPLIED, SKIPPED = torch.tensor(0), torch.tensor(1)


def pair():
    """PyTorch's norm, and ours with the same weights."""
    torch.manual_seed(0)
    theirs = nn.BatchNorm2d(4)
    nn.init.normal_(theirs.weight)
    holder = nn.Sequential(nn.BatchNorm2d(4))
    holder.load_state_dict({f"0.{name}": each for name, each in theirs.state_dict().items()})
    assert replace_norms(holder, "live") == 1
    return theirs, holder


def test_a_step_of_one_batch_does_what_pytorch_does():
    theirs, ours = pair()
    x = torch.randn(3, 4, 5, 5)
    assert torch.equal(theirs(x), ours(x))
    BatchStatistics(ours).end_step(APPLIED, ONE_RANK)
    for name in ("running_mean", "running_var"):
        assert torch.allclose(getattr(theirs, name), getattr(ours[0], name), atol=1e-6)
    assert torch.allclose(theirs.eval()(x), ours.eval()(x), atol=1e-6)


def test_statistics_of_a_step_are_the_mean_of_its_batches_and_change_once():
    _, ours = pair()
    one, other = torch.randn(2, 4, 5, 5), torch.randn(2, 4, 5, 5) + 3
    ours(one)
    ours(other)
    assert ours[0].running_mean.abs().max() == 0
    BatchStatistics(ours).end_step(APPLIED, ONE_RANK)
    expected = 0.1 * torch.cat([one, other]).mean((0, 2, 3))
    assert torch.allclose(ours[0].running_mean, expected, atol=1e-6)


@pytest.mark.parametrize("spoil", ["skipped", "not finite", "nothing"])
def test_a_skipped_step_changes_no_statistic(spoil):
    _, ours = pair()
    if spoil != "nothing":
        ours(torch.randn(2, 4, 5, 5) * (torch.nan if spoil == "not finite" else 1))
    BatchStatistics(ours).end_step(SKIPPED if spoil == "skipped" else APPLIED, ONE_RANK)
    assert (ours[0].running_mean == 0).all()
    assert (ours[0].running_var == 1).all()


def test_passes_before_a_step_are_forgotten():
    _, ours = pair()
    ours(torch.randn(2, 4, 5, 5) + 9)
    statistics = BatchStatistics(ours)
    statistics.begin_step()
    statistics.end_step(APPLIED, ONE_RANK)
    assert (ours[0].running_mean == 0).all()


def test_frozen_norms_use_stored_statistics_in_training_and_group_norms_none():
    frozen, grouped = nn.Sequential(nn.BatchNorm2d(8)), nn.Sequential(nn.BatchNorm2d(8))
    replace_norms(frozen, "frozen")
    replace_norms(grouped, "group")
    x = torch.randn(2, 8, 3, 3) * 5
    assert torch.equal(frozen.train()(x), frozen.eval()(x))
    assert BatchStatistics(frozen).norms == []
    assert isinstance(grouped[0], nn.GroupNorm)
    assert torch.allclose(grouped(x)[:1], grouped(x[:1]), atol=1e-6)


def test_names_of_weights_stay_those_of_pytorch():
    assert StepBatchNorm(3, eps=1e-5, live=True).state_dict().keys() == nn.BatchNorm2d(3).state_dict().keys()
