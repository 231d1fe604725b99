import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from trimtab.step.accumulate_batches import accumulate_batches


def summed(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_however_it_is_cut_the_gradient_is_that_of_one_batch(sizes):
    torch.manual_seed(0)
    model = nn.Linear(4, 6).double()
    inputs, labels = torch.randn(sum(sizes), 4, dtype=torch.float64), torch.randint(6, (sum(sizes),))
    batches = list(zip(inputs.split(sizes), labels.split(sizes), strict=True))
    loss = accumulate_batches(lambda batch: summed(model, batch), batches, num_targets=lambda b: len(b[1]))
    cut = model.weight.grad.clone()
    model.zero_grad()
    whole = summed(model, (inputs, labels)) / max(1, sum(sizes))
    whole.backward()
    torch.testing.assert_close(cut, model.weight.grad)
    torch.testing.assert_close(loss, whole.detach())


def test_a_mean_in_half_precision_is_given_in_full():
    model = nn.Linear(4, 6).bfloat16()
    batch = torch.randn(3, 4, dtype=torch.bfloat16), torch.tensor([0, 1, 2])
    loss = accumulate_batches(lambda each: summed(model, each), [batch, batch], num_targets=lambda b: 3)
    assert loss.dtype == torch.float32
    assert not loss.requires_grad
