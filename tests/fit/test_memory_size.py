import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.fit.memory_size import GIB, MIB, in_gib, parse_memory, usable


@for_each(
    ("text", "size"),
    [
        ("24GB", 24 * GIB),
        ("24 gib", 24 * GIB),
        ("1.5GB", 3 * GIB // 2),
        ("512MiB", 512 * MIB),
        ("1TB", 1024 * GIB),
    ],
)
def test_amounts_are_read_in_powers_of_two(text, size):
    assert parse_memory(text, option="--ram") == size


@for_each(
    ("text", "said"),
    [
        ("24", "has no unit"),
        ("", "not an amount"),
        ("GB", "not an amount"),
        ("24 apples", "not an amount"),
        ("-3GB", "not an amount"),
        ("nanGB", "not an amount"),
        ("1e9GB", "not an amount"),
        ("0GB", "so little"),
        ("9" * 30 + "GB", "so much"),
        ("２４GB\n\x1b[31m", ""),
    ],
)
def test_other_texts_are_refused_with_what_to_write(text, said):
    with pytest.raises(InputError) as told:
        parse_memory(text, option="--memory")
    assert said in str(told.value)
    assert "`--memory " in str(told.value)
    assert "\x1b" not in str(told.value)


def test_a_card_offers_less_than_it_is_sold_with_but_what_is_measured_is_taken_as_it_is():
    assert usable("24GB", option="--memory") == pytest.approx(23.6 * GIB, rel=0.001)
    assert usable("23.6GiB", option="--memory") == int(23.6 * GIB)


@given(st.integers(0, 2**50))
def test_amounts_are_printed_with_a_unit(size):
    assert in_gib(size).endswith(("GiB", "MiB"))
