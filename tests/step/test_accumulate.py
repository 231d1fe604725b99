import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.step.toy import Toy, packs
from tests.streams import pack_of
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.step.accumulate import accumulate, accumulate_batches


def gradient(model, packs):
    model.zero_grad()
    out = accumulate(model.objective, packs)
    return out, torch.cat([p.grad.flatten() for p in model.parameters()])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=8), st.data())
def test_neither_loss_nor_gradient_depends_on_how_the_window_is_cut(sizes, data):
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, 64, (n,), generator=generator).tolist() for n in sizes]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1))))
    parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    model = Toy()
    whole, expected = gradient(model, [pack_of(rows, rows)])
    cut, got = gradient(model, [pack_of(part, part) for part in parts])
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(cut.loss, whole.loss)
    torch.testing.assert_close(cut.objective, whole.objective)


def test_the_loss_is_the_mean_over_targets_not_over_micro_batches():
    model = Toy()
    short, long = pack_of([[5]], [[5]]), pack_of([[6] * 9], [[6] * 9])
    each = [float(model.objective(p).loss.detach()) for p in (short, long)]
    assert torch.isclose(
        accumulate(model.objective, [short, long]).loss, torch.tensor(sum(each) / 10).double()
    )


def test_truncated_labels_are_counted_over_all_packs_and_stay_in_the_divisor():
    model = Toy()

    def cut(pack):
        hidden = model.embedding(pack.target.ids)
        return plain_cross_entropy(hidden, model.linear.weight, pack.labels, Terms(64, truncate_above=0.99))

    sums = [cut(pack) for pack in packs(5, 7)]
    total = accumulate(cut, packs(5, 7))
    assert total.truncated == sum(part.truncated for part in sums) > 0
    torch.testing.assert_close(total.objective, sum(part.objective for part in sums).detach() / 12)


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


def test_a_rank_without_a_micro_batch_adds_nothing():
    model = Toy()
    total = accumulate(model.objective, [], targets=torch.tensor(12.0))
    assert (total.loss, total.objective, total.truncated) == (0, 0, None)
    assert all(parameter.grad is None for parameter in model.parameters())
