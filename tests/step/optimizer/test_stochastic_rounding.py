import struct

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.step.optimizer.stochastic_rounding import round_stochastically, store

LARGEST = 3.3895313892515355e38
"""The largest finite bfloat16."""
finite = st.floats(min_value=-LARGEST, max_value=LARGEST, width=32, allow_nan=False)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def neighbours(value):
    """The bfloat16 at or next to a number towards zero, and the one beyond it, from its bytes."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    below = bits & 0xFFFF0000
    above = below if below == bits else below + 0x10000
    return tuple(struct.unpack("<f", struct.pack("<I", each))[0] for each in (below, above))


@given(finite, st.integers(0, 2**31))
def test_every_result_is_a_neighbour(value, seed):
    rounded = round_stochastically(torch.full((64,), value), generator=generator(seed))
    assert rounded.dtype == torch.bfloat16
    assert set(rounded.tolist()) <= set(neighbours(value))


@given(finite, st.integers(0, 2**31))
def test_what_bfloat16_can_hold_stays(value, seed):
    held = torch.full((64,), value).to(torch.bfloat16)
    again = round_stochastically(held.float(), generator=generator(seed))
    assert torch.equal(held.view(torch.int16), again.view(torch.int16))


@given(st.floats(min_value=2**-100, max_value=2**100, width=32), st.booleans(), st.integers(0, 2**31))
def test_the_mean_is_the_number(value, negative, seed):
    value = -value if negative else value
    count = 20_000
    below, above = neighbours(value)
    rounded = round_stochastically(torch.full((count,), value), generator=generator(seed)).double()
    share = 0.0 if below == above else (value - below) / (above - below)
    found = float((rounded == above).double().mean()) if below != above else 0.0
    deviation = (share * (1 - share) / count) ** 0.5
    assert abs(found - share) <= 6 * deviation + 2**-16


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
def test_what_is_no_number_stays_what_it_is(value):
    rounded = round_stochastically(torch.full((1000,), value), generator=generator(1))
    assert torch.equal(rounded.isnan(), torch.full((1000,), value).isnan())
    assert torch.equal(rounded.isinf(), torch.full((1000,), value).isinf())
    assert torch.equal(rounded.signbit(), torch.full((1000,), value).signbit()) or value != value


def test_zeros_keep_their_sign_and_shapes_are_kept():
    zeros = torch.tensor([[0.0, -0.0]])
    rounded = round_stochastically(zeros)
    assert rounded.shape == (1, 2)
    assert rounded.signbit().tolist() == [[False, True]]
    strided = torch.arange(6.0).view(2, 3).t() + 0.001
    assert round_stochastically(strided).shape == (3, 2)
    assert (round_stochastically(strided).float() - strided).abs().max() < 0.04


def test_the_same_generator_gives_the_same_rounding_and_the_global_seed_counts():
    values = torch.randn(500)
    one, two = (round_stochastically(values, generator=generator(3)) for _ in range(2))
    assert torch.equal(one, two)
    torch.manual_seed(5)
    one = round_stochastically(values)
    torch.manual_seed(5)
    assert torch.equal(one, round_stochastically(values))


def test_small_steps_add_up_where_rounding_to_the_nearest_loses_them():
    place, nearest = (torch.ones(4000, dtype=torch.bfloat16) for _ in range(2))
    draw = generator(0)
    for _ in range(100):
        store(place, place.float() + 1e-4, generator=draw)
        nearest.copy_(nearest.float() + 1e-4)
    assert torch.equal(nearest, torch.ones_like(nearest))
    assert float(place.double().mean()) == pytest.approx(1.01, abs=5e-4)


def test_other_precisions_are_stored_as_they_are():
    place, values = torch.zeros(100), torch.randn(100)
    store(place, values)
    assert torch.equal(place, values)
