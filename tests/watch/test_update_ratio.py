import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from trimtab.watch.update_ratio import FEWEST, KEPT, SAMPLED, UpdateRatios, out_of_range, sampled

APPLIED, SKIPPED = torch.tensor(1.0), torch.tensor(0.0)


def model():
    torch.manual_seed(0)
    return nn.ModuleDict({"wide": nn.Linear(300, 200), "table": nn.Embedding(50, 8), "norm": nn.LayerNorm(8)})


def measured(change, *, times=FEWEST, applied=APPLIED):
    net = model()
    ratios = UpdateRatios(dict(net.named_parameters()))
    with torch.no_grad():
        for _ in range(times):
            ratios.before()
            change(net)
            ratios.after(applied=applied)
    return ratios


def shrink(share):
    def change(net):
        for each in net.parameters():
            each.mul_(1 - share)

    return change


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.3])
def test_a_step_that_takes_off_a_share_of_each_weight_has_it_as_ratio(share):
    found = measured(shrink(share)).medians()
    assert found == pytest.approx({"wide.weight": share, "table.weight": share}, rel=0.1)


def test_vectors_are_left_out_and_a_matrix_of_zeros_has_no_ratio():
    net = nn.Linear(4, 4)
    nn.init.zeros_(net.weight)
    ratios = UpdateRatios(dict(net.named_parameters()))
    for _ in range(FEWEST):
        ratios.before()
        ratios.after(applied=APPLIED)
    assert ratios.medians() == {}


@given(st.integers(1, 40), st.integers(1, 3000))
def test_a_sample_is_small_and_evenly_spread(rows, columns):
    numbers = torch.arange(float(rows * columns)).view(rows, columns)
    places = sampled(numbers)
    assert 0 < len(places) <= SAMPLED
    assert len(places) == rows * columns or len(places) > SAMPLED / 4
    assert places.diff().unique().numel() <= 1


def test_a_large_power_of_two_is_not_sampled_in_one_column():
    assert len(set((sampled(torch.arange(2.0**22, dtype=torch.float64)) % 512).tolist())) == 512


def test_too_few_measurements_say_nothing():
    assert measured(shrink(0.5), times=FEWEST - 1).medians() == {}


def test_steps_that_were_not_applied_are_no_measurements():
    assert measured(lambda net: None, times=KEPT, applied=SKIPPED).medians() == {}
    assert measured(lambda net: None, times=KEPT, applied=torch.tensor(-2.0)).medians() == {}


def test_one_step_that_is_unlike_the_others_does_not_count():
    steps = iter([1e-3, 1e-3, 0.9, 1e-3])
    found = measured(lambda net: shrink(next(steps))(net), times=4).medians()
    assert found["wide.weight"] == pytest.approx(1e-3, rel=0.1)


def test_weights_that_hardly_move_are_named_and_embeddings_may_rest():
    ratios = {"a": 1e-3, "b": 1e-7, "table": 0.0, "c": 0.0}
    (found,) = out_of_range(ratios, lookups=frozenset({"table"}))
    assert found.code == "S920"
    assert "2 of 4 matrices" in found.message
    assert "c 0, b 1e-07" in found.message


def test_weights_that_move_too_far_are_named_the_farthest_first():
    (found,) = out_of_range({"a": 1e-3, "b": 0.2, "c": 0.9})
    assert found.code == "S921"
    assert "2 of 3 matrices by more than 0.1 of their size: c 0.9, b 0.2" in found.message
    assert out_of_range({}) == []


def test_what_is_slowed_down_on_purpose_may_move_as_much_less_and_nothing_may_move_too_far():
    ratios = {"a": 5e-6, "b": 5e-6, "c": 0.2}
    (slow, fast) = out_of_range(ratios, multipliers={"a": 0.25, "b": 1.0, "c": 100.0})
    assert "1 of 3 matrices by less than 1e-05 of their size: b 5e-06" in slow.message
    assert (
        "1 of 3 matrices by more than 0.1 of their size (learning_rate_multipliers of 100): c 0.2"
        in fast.message
    )
    (slow,) = out_of_range({"a": 5e-8}, multipliers={"a": 0.25})
    assert "(learning_rate_multipliers of 0.25): a 5e-08" in slow.message
    (slow,) = out_of_range({"a": 5e-6}, multipliers={"a": 50.0})
    assert slow.code == "S920"


def test_training_is_the_same_with_and_without_a_look():
    def train(watched):
        net = model()
        optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
        ratios = UpdateRatios(dict(net.named_parameters()))
        for _ in range(5):
            if watched:
                ratios.before()
            net["wide"](torch.ones(3, 300)).square().mean().backward()
            optimizer.step()
            if watched:
                ratios.after(applied=APPLIED)
        return [each.detach() for each in net.parameters()]

    assert all(torch.equal(one, other) for one, other in zip(train(True), train(False), strict=True))
    assert not math.isnan(sum(float(each.sum()) for each in train(True)))
