import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.step.toy import Toy, packs
from tests.streams import pack_of
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.step.accumulate import accumulate


def gradient(model, packs):
    model.zero_grad()
    out = accumulate(model.objective, packs)
    return out, torch.cat([p.grad.flatten() for p in model.parameters()])


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


def test_a_rank_without_a_micro_batch_adds_nothing():
    model = Toy()
    total = accumulate(model.objective, [], targets=torch.tensor(12.0))
    assert (total.loss, total.objective, total.truncated) == (0, 0, None)
    assert all(parameter.grad is None for parameter in model.parameters())
