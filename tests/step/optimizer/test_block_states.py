import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.step.optimizer import block_states as blocks

PAIRS = {
    "first": (blocks.encoded_first, blocks.decoded_first),
    "second": (blocks.encoded_second, blocks.decoded_second),
}


def numbers(seed, *, rows=4, spread=3.0, positive=False):
    generator = torch.Generator().manual_seed(seed)
    found = torch.randn(rows, blocks.BLOCK, generator=generator)
    found = found * 10 ** (spread * torch.randn(rows, blocks.BLOCK, generator=generator))
    return found.abs() if positive else found


def drawn(rows, seed):
    places = torch.arange(rows * blocks.BLOCK)
    return blocks.random_numbers(places, torch.tensor(seed)).first.view(rows, -1)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([8, 4]), st.sampled_from(["first", "second"]))
def test_what_is_stored_is_a_neighbour_of_what_was_given_and_the_largest_is_exact(seed, bits, moment):
    encode, decode = PAIRS[moment]
    values = numbers(seed, positive=moment == "second", spread=1.0)
    codes, scales = encode(values, drawn(4, seed), bits=bits)
    back = decode(codes, scales, bits=bits)
    most, power = blocks.LEVELS[bits][moment == "second"], 4 if moment == "second" else 2
    step = power / most * 1.01 + 1e-6  # of what the codes stand for, relative to the largest of a block
    assert bool(((back - values).abs() <= step * scales[:, None]).all())
    assert torch.allclose(back.abs().amax(1), values.abs().amax(1), rtol=1e-6)
    assert bool((back.sign() * values.sign() >= 0).all())


@pytest.mark.quick("first-8", "second-4")
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("moment", PAIRS)
def test_what_is_stored_is_right_on_average(moment, bits):
    encode, decode = PAIRS[moment]
    values = torch.linspace(0.05, 1, blocks.BLOCK)[None] * (-1 if moment == "first" else 1)
    draws = 400
    total = torch.zeros_like(values)
    for seed in range(draws):
        codes, scales = encode(values, drawn(1, seed), bits=bits)
        total += decode(codes, scales, bits=bits)
    most, power = blocks.LEVELS[bits][moment == "second"], 4 if moment == "second" else 2
    spread = power / most / 2 / draws**0.5  # of a mean of so many draws, at most
    assert float((total / draws - values).abs().max()) < 5 * spread


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([8, 4]))
def test_a_second_moment_above_zero_is_never_stored_as_zero(seed, bits):
    values = numbers(seed, positive=True, spread=6.0)
    values[0, :5] = 0
    codes, scales = blocks.encoded_second(values, drawn(4, seed), bits=bits)
    back = blocks.decoded_second(codes, scales, bits=bits)
    held = values / values.amax(1, keepdim=True) > 1e-30  # smaller ones are no float32 when they are scaled
    assert bool((back[held & (values > 0)] > 0).all())
    assert bool((back[values == 0] == 0).all())


def test_a_block_of_zeros_stays_so():
    for encode, decode in PAIRS.values():
        for bits in (8, 4):
            codes, scales = encode(torch.zeros(1, blocks.BLOCK), drawn(1, 0), bits=bits)
            assert not decode(codes, scales, bits=bits).any()


def test_two_codes_share_a_byte():
    codes = torch.randint(0, 16, (5, blocks.BLOCK), dtype=torch.uint8)
    assert blocks.packed(codes).nbytes == codes.nbytes // 2
    assert torch.equal(blocks.unpacked(blocks.packed(codes)), codes)


def test_chances_are_uniform_and_independent_of_each_other_and_of_the_seed():
    places = torch.arange(200_000)
    one, two = (blocks.random_numbers(places, torch.tensor(seed)) for seed in (1, 2))
    drawn = [one.weight / 2**16, one.first, one.second, two.first, two.second]
    for each in drawn:
        counts = torch.histc(each.float(), bins=20, min=0, max=1)
        assert float((counts / 10_000 - 1).abs().max()) < 0.06
    together = torch.corrcoef(torch.stack([each.float() for each in drawn]))
    assert float((together - torch.eye(5)).abs().max()) < 0.01


def test_24_bits_come_back_and_are_rounded_to_a_neighbour():
    values = numbers(3).flatten()
    chance = blocks.random_numbers(torch.arange(len(values)), torch.tensor(5)).weight
    high, off = blocks.split(values, chance)
    assert torch.equal(high, high.to(torch.bfloat16).float())
    back = blocks.widened(high.to(torch.bfloat16), off)
    assert float(((back - values).abs() / values.abs()).max()) <= 2**-15
    again = blocks.split(back, torch.zeros_like(chance))
    assert torch.equal(again[0], high)
    assert torch.equal(again[1], off)


def test_numbers_in_bfloat16_are_right_on_average_and_what_fits_stays():
    value = torch.full((100_000,), 1 + 1 / 512)
    chance = blocks.random_numbers(torch.arange(100_000), torch.tensor(7)).weight
    rounded = blocks.narrowed(value, chance)
    assert set(rounded.tolist()) == {1.0, 1.0078125}
    assert float(rounded.double().mean()) == pytest.approx(1 + 1 / 512, abs=1e-4)
    fits = torch.tensor([0.0, -1.5, float("inf"), float("-inf")])
    assert torch.equal(blocks.narrowed(fits, torch.full((4,), 65535)), fits)
    assert blocks.narrowed(torch.tensor([float("nan")]), torch.tensor([65535])).isnan().all()
