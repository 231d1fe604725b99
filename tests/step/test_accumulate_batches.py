"""Exact accumulation in one process; over ranks, tests/loops has it."""

import math
from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from trimtab.errors import InputError
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


def some_batches(*sizes):
    torch.manual_seed(1)
    return [(torch.randn(n, 4), torch.randint(6, (n,))) for n in sizes]


def accumulated(batches, loss_of=None, **options):
    """Loss and gradient of a model of its own."""
    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    loss_of = loss_of or summed
    num_targets = options.pop("num_targets", lambda batch: len(batch[1]))
    loss = accumulate_batches(lambda each: loss_of(model, each), batches, num_targets=num_targets, **options)
    return loss, model.weight.grad


@pytest.mark.parametrize("form", [iter, tuple, lambda all_of_them: islice(iter(all_of_them), 9)])
def test_a_step_may_come_from_a_generator_or_a_slice(form):
    batches = some_batches(3, 20, 7)
    expected, got = accumulated(batches), accumulated(form(batches))
    assert all(torch.equal(one, other) for one, other in zip(expected, got, strict=True))


@pytest.mark.parametrize("count", [lambda b: (b[1] != -100).sum(), lambda b: float(len(b[1]))])
def test_targets_may_be_counted_by_a_tensor_or_a_whole_float(count):
    batches = some_batches(3, 5)
    loss_of = summed
    got = accumulated(batches, loss_of, num_targets=lambda batch: int(count(batch)))
    assert torch.equal(got[1], accumulated(batches)[1])


def test_backward_is_called_in_place_of_the_tensors_own():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    batches = some_batches(3, 5)
    loss, gradient = accumulated(batches, backward=lambda share: scaler.scale(share).backward())
    expected, unscaled = accumulated(batches)
    assert torch.equal(loss, expected)
    torch.testing.assert_close(gradient, 8 * unscaled)


MEANS = {
    "cross_entropy": lambda model, b: nn.functional.cross_entropy(model(b[0]), b[1]),
    "mean()": lambda model, b: nn.functional.cross_entropy(model(b[0]), b[1], reduction="none").mean(),
    "halves": lambda model, b: nn.functional.cross_entropy(model(b[0]), b[1]).bfloat16() / 2,
    "mse": lambda model, b: nn.functional.mse_loss(model(b[0]), torch.zeros(len(b[1]), 6)),
    "a dimension": lambda model, b: model(b[0]).square().mean((0, 1)),
}


@pytest.mark.parametrize("loss_of", MEANS.values(), ids=MEANS)
def test_a_mean_in_place_of_a_sum_is_refused(loss_of):
    with pytest.raises(InputError, match=r"(?s)is a mean.*num_targets gave 3.*reduction=\"sum\""):
        accumulated(some_batches(3, 2), loss_of)


def test_a_mean_that_became_a_sum_and_one_over_something_else_are_taken():
    batches = some_batches(3, 5)
    expected = accumulated(batches)[1]
    mean = MEANS["cross_entropy"]
    torch.testing.assert_close(accumulated(batches, lambda m, b: mean(m, b) * len(b[1]))[1], expected)
    twice = accumulated(batches, lambda m, b: torch.stack([summed(m, b), summed(m, b)]).mean())[1]
    torch.testing.assert_close(twice, expected)


WRONG = [
    ([], {}, "is empty"),
    (iter([]), {}, "an iterator that gave nothing more"),
    (torch.randn(3, 4), {}, "is one batch"),
    ({"input_ids": 1}, {}, "is one batch"),
    ("text", {}, "holds no batches"),
    (torch.utils.data.DataLoader([1, 2]), {}, "is a whole loader"),
    (None, {"loss_of": lambda m, b: summed(m, b).detach()}, "has no gradient"),
    (None, {"loss_of": lambda m, b: m(b[0])}, "is more than one number"),
]


@pytest.mark.parametrize(("batches", "options", "said"), WRONG, ids=[each[-1] for each in WRONG])
def test_what_is_no_step_is_refused_by_name(batches, options, said):
    with pytest.raises(InputError, match=rf"(?s)accumulate_batches: .*{said}.*\n  allowed .*\n  fix "):
        accumulated(some_batches(3) if batches is None else batches, **options)


class Divides:
    gradient_accumulation_steps = 4

    def backward(self, loss):
        raise AssertionError("is not called")


def test_an_accelerator_that_divides_as_well_is_refused():
    with pytest.raises(InputError, match=r"Divides\(gradient_accumulation_steps=4\)"):
        accumulated(some_batches(3), backward=Divides().backward)


def test_processes_without_a_group_are_refused_and_may_be_alone(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        InputError, match=r"(?s)accumulate_batches: there are several processes.*WORLD_SIZE=2"
    ):
        accumulated(some_batches(3))
    loss, _ = accumulated(some_batches(3), ranks="alone")
    assert math.isfinite(loss)
