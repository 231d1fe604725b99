"""The step over ranks without processes; `tests/distributed/test_torch_ranks.py` has them."""

import pytest
import torch

from tests.fake_ranks import Twins, Unasked
from tests.images import ImageModel, image_batches
from tests.step.toy import Toy
from trimtab.config.optimizers import SGD
from trimtab.config.step import ClipGlobalNorm
from trimtab.errors import InputError
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.over_ranks import summed
from trimtab.step.take_step import StepsOverRanks
from trimtab.types import LossOutput


def step(model, batches, *, ranks):
    """One step of a model whose forward pass gives the loss, as that of what will be sharded."""
    optimizer = build_optimizer(SGD(), model)
    report = StepsOverRanks(ranks).take_step(
        model,
        optimizer,
        batches,
        clip=build_clip(ClipGlobalNorm(at=0.5)),
        scale=LossScale(enabled=False, device=torch.device("cpu")),
        learning_rate=0.1,
    )
    return report, [parameter.detach().clone() for parameter in optimizer.parameters]


def test_one_rank_is_asked_nothing():
    report, _ = step(ImageModel(), image_batches(5, 7), ranks=Unasked())
    assert report.num_targets == 12
    assert report.skipped == 0


def test_two_ranks_with_the_same_micro_batch_take_the_step_of_one_with_it_twice():
    ranked, ours = step(ImageModel(), image_batches(4), ranks=Twins())
    alone, theirs = step(ImageModel(), image_batches(4) * 2, ranks=Unasked())
    assert (ranked.num_targets, ranked.num_tokens) == (alone.num_targets, alone.num_tokens) == (8, 8)
    for key in ("loss", "objective", "grad_norm", "clipped"):
        torch.testing.assert_close(getattr(ranked, key), getattr(alone, key))
    torch.testing.assert_close(ours, theirs)


def test_gradients_that_a_rank_has_none_of_are_zero():
    model = Toy()
    model.linear.weight.grad = torch.ones_like(model.linear.weight)
    total = summed(LossOutput(torch.tensor(1.5), torch.tensor(1.0)), list(model.parameters()), Twins())
    assert (total.objective, total.loss, total.truncated) == (3.0, 2.0, 0.0)
    assert total.loss.dtype == torch.float64  # that of the weights, on every rank
    assert (model.linear.weight.grad == 2).all()
    assert (model.embedding.weight.grad == 0).all()


def test_weights_that_are_rounded_by_chance_are_refused():
    model = ImageModel().to(torch.bfloat16)
    with pytest.raises(InputError, match="differ by rank"):
        summed(LossOutput(torch.tensor(1.0), torch.tensor(1.0)), list(model.parameters()), Twins())
