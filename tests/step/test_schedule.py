import math
from itertools import pairwise

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from trimtab.config.step import (
    Constant,
    Cosine,
    Exponential,
    InverseSqrt,
    LinearWarmup,
    Noam,
    OneCycle,
    WarmupStableDecay,
)
from trimtab.step.schedule import peak_factor, rate_at

ALL = [
    Constant(),
    LinearWarmup(),
    InverseSqrt(),
    Cosine(),
    Cosine(floor=0.1),
    WarmupStableDecay(),
    WarmupStableDecay(shape="linear", decay_share=1.0, floor=0.1),
    Exponential(),
    Noam(),
]


@pytest.mark.parametrize("schedule", ALL, ids=str)
@given(warmup=st.integers(0, 200), length=st.integers(1, 1000))
def test_it_rises_to_the_peak_and_never_above_and_never_below_zero(schedule, warmup, length):
    assume(warmup < length)
    rates = [rate_at(schedule, step=s, length=length, warmup=warmup) for s in range(length)]
    assert max(rates) == 1.0
    assert min(rates) >= 0
    assert rates[0] > 0
    peak = max(warmup - 1, 0)
    assert rates[peak] == 1.0
    assert all(a < b for a, b in pairwise(rates[: peak + 1]))
    assert all(a >= b for a, b in pairwise(rates[peak:]))


def test_linear_warmup_falls_in_a_line_to_zero_at_the_end():
    rates = [rate_at(LinearWarmup(), step=s, length=100, warmup=20) for s in range(101)]
    assert rates[19] == rates[20] == 1.0
    assert rates[60] == pytest.approx(0.5)
    assert rates[100] == 0


def test_cosine_ends_at_its_floor_and_is_halfway_in_the_middle():
    at = lambda s: rate_at(Cosine(floor=0.2), step=s, length=100, warmup=20)  # noqa: E731
    assert at(60) == pytest.approx(0.6)
    assert at(100) == pytest.approx(0.2)


def test_inverse_sqrt_is_the_papers_rate_over_its_peak():
    for step in (100, 400, 1600):
        noam = min((step + 1) ** -0.5, (step + 1) * 100**-1.5) / 100**-0.5
        assert rate_at(InverseSqrt(), step=step, length=math.inf, warmup=100) == pytest.approx(noam)


def test_before_the_length_is_known_the_rate_stays_at_its_peak():
    assert rate_at(LinearWarmup(), step=50, length=math.inf, warmup=20) == 1.0


@pytest.mark.parametrize(("shape", "middle"), [("linear", 0.5), ("sqrt", 1 - math.sqrt(0.5))])
def test_warmup_stable_decay_is_level_until_its_last_share(shape, middle):
    schedule = WarmupStableDecay(shape=shape, decay_share=0.2)
    rates = [rate_at(schedule, step=s, length=1000, warmup=100) for s in range(1001)]
    assert set(rates[100:801]) == {1.0}
    assert rates[900] == pytest.approx(middle)
    assert rates[1000] == pytest.approx(0)


def test_exponential_falls_by_the_same_factor_every_step_to_its_floor():
    rates = [rate_at(Exponential(floor=0.01), step=s, length=110, warmup=10) for s in range(111)]
    assert rates[110] == pytest.approx(0.01)
    factors = [b / a for a, b in pairwise(rates[10:])]
    assert min(factors) == pytest.approx(max(factors))


@pytest.mark.parametrize("length", [100, 1000])
def test_one_cycle_is_that_of_pytorch(length):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1.0, total_steps=length, pct_start=0.3, cycle_momentum=False
    )
    # Theirs peaks at step 0.3 n - 1 and reaches the end in step n - 1; ours one step later.
    for step in range(length):
        ours = rate_at(OneCycle(), step=step, length=length - 1, warmup=0.3 * length - 1)
        assert ours == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-6, abs=1e-9)
        optimizer.step()
        if step + 1 < length:
            theirs.step()


def test_one_cycle_rises_for_three_tenths_where_no_warmup_is_written():
    rates = [rate_at(OneCycle(), step=s, length=100, warmup=0) for s in range(101)]
    assert rates.index(max(rates)) == 30
    assert rates[0] == pytest.approx(0.04)
    assert rates[100] == pytest.approx(4e-6)


@pytest.mark.parametrize("dim", [64, 512])
def test_noam_times_its_peak_is_the_papers_equation(dim):
    for step in (0, 99, 400, 4000):
        ours = peak_factor(Noam(), dim=dim) * rate_at(Noam(), step=step, length=math.inf, warmup=4000)
        papers = dim**-0.5 * min((step + 1) ** -0.5, (step + 1) * 4000**-1.5)
        assert ours == pytest.approx(papers)
    assert peak_factor(LinearWarmup(), dim=dim) == 1


def test_one_cycle_without_an_end_rises_for_a_thousand_steps_or_its_warmup_and_stays_at_the_peak():
    at = lambda step, warmup: rate_at(OneCycle(), step=step, length=math.inf, warmup=warmup)  # noqa: E731
    for warmup, rise in ((0, 1000), (200, 200)):
        assert at(0, warmup) == pytest.approx(0.04)
        assert at(rise // 2, warmup) == pytest.approx((0.04 + 1) / 2)
        assert at(rise - 1, warmup) < at(rise, warmup) == at(rise + 1, warmup) == at(10**9, warmup) == 1.0


def test_one_cycle_rises_for_its_warmup_where_one_is_written():
    rates = [rate_at(OneCycle(), step=s, length=100, warmup=10) for s in range(101)]
    assert rates.index(max(rates)) == 10
    assert rates[55] == pytest.approx((1 + 4e-6) / 2)


@pytest.mark.parametrize("schedule", [*ALL, OneCycle()], ids=str)
def test_a_run_without_an_end_never_falls_for_being_late_in_it(schedule):
    rates = [rate_at(schedule, step=step, length=math.inf, warmup=10) for step in (10, 10**3, 10**6)]
    expected = [1.0, 0.1, 10**-2.5] if isinstance(schedule, InverseSqrt | Noam) else [1.0, 1.0, 1.0]
    assert rates == pytest.approx(expected, rel=0.06)


def test_a_decay_that_would_begin_within_the_warmup_begins_after_it():
    rates = [
        rate_at(WarmupStableDecay(shape="linear", decay_share=1.0), step=s, length=120, warmup=20)
        for s in range(121)
    ]
    assert rates[19] == rates[20] == 1.0
    assert rates[70] == pytest.approx(0.5)
    assert rates[120] == pytest.approx(0)


@pytest.mark.parametrize("schedule", [*ALL, OneCycle()], ids=str)
def test_behind_its_end_a_run_stays_at_the_rate_it_ended_with(schedule):
    end, later = (rate_at(schedule, step=step, length=100, warmup=10) for step in (100, 250))
    if isinstance(schedule, InverseSqrt | Noam):
        assert later == pytest.approx(end * math.sqrt(101 / 251))
    else:
        assert later == pytest.approx(end, abs=1e-12)
    assert later >= 0
