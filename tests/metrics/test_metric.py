import math

import pytest

from trimtab.errors import InputError
from trimtab.metrics.metric import Nats, check_aligned


def test_the_nats_of_all_tokens_are_divided_by_the_bytes():
    nats = Nats.of(2.0, num_targets=30, num_bytes=100)
    assert (nats.per_token, nats.per_byte) == (2.0, 0.6)


def test_without_a_text_there_is_nothing_per_byte():
    assert math.isnan(Nats.of(2.0, num_targets=3, num_bytes=0).per_byte)


def test_sets_of_one_length_that_is_not_0_belong_together():
    check_aligned(["a"], ["b"])
    with pytest.raises(InputError, match="2 translations and 1 references"):
        check_aligned(["a", "b"], ["c"])
    with pytest.raises(InputError, match="the set is empty"):
        check_aligned([], [])
