import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.step import BatchWarmup
from trimtab.step.batch_warmup import tokens_at
from trimtab.units import Duration

warmups = st.builds(
    lambda start, over, shape: BatchWarmup(start=start, over=Duration(over, "steps"), shape=shape),
    st.integers(1, 5000),
    st.integers(1, 3000),
    st.sampled_from(["linear", "doubling"]),
)


@given(warmups, st.integers(1, 60000), st.integers(0, 4000))
def test_steps_begin_as_told_never_shrink_and_end_at_the_full_size(warmup, more, step):
    full = warmup.start + more
    now, then = (tokens_at(warmup, step=number, full=full) for number in (step, step + 1))
    assert tokens_at(warmup, step=0, full=full) == warmup.start
    assert warmup.start <= now <= then <= full
    assert tokens_at(warmup, step=warmup.over.steps, full=full) == full


def test_without_a_warmup_all_steps_are_alike():
    assert tokens_at(None, step=0, full=100) == 100


@pytest.mark.parametrize(
    ("shape", "expected"),
    [("linear", [100, 275, 450, 625, 800, 800]), ("doubling", [100, 100, 200, 400, 800, 800])],
)
def test_it_grows_in_a_line_or_by_doubling(shape, expected):
    warmup = BatchWarmup(start=100, over=Duration(4, "steps"), shape=shape)
    assert [tokens_at(warmup, step=step, full=800) for step in range(6)] == expected


def test_a_full_size_that_is_no_power_of_two_times_the_first_is_not_passed():
    warmup = BatchWarmup(start=100, over=Duration(3, "steps"), shape="doubling")
    assert [tokens_at(warmup, step=step, full=500) for step in range(4)] == [100, 200, 400, 500]
