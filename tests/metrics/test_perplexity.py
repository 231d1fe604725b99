import math

import pytest

from trimtab.metrics.catalogue import text_scores


def test_perplexities_are_those_of_the_definition():
    found = text_scores(2.0, num_targets=30, num_bytes=100)
    assert found["perplexity"] == pytest.approx(math.e**2)
    assert found["byte_perplexity"] == pytest.approx(math.e**0.6)
    assert found["bits_per_byte"] == pytest.approx(0.6 / math.log(2))
    assert 2 ** found["bits_per_byte"] == pytest.approx(found["byte_perplexity"])


def test_a_uniform_guess_of_bytes_has_eight_bits_each():
    found = text_scores(math.log(256), num_targets=50, num_bytes=50)
    assert found["perplexity"] == pytest.approx(256)
    assert found["bits_per_byte"] == pytest.approx(8)


def test_no_text_and_a_loss_that_is_not_finite_are_no_error():
    assert math.isnan(text_scores(1.0, num_targets=0, num_bytes=0)["bits_per_byte"])
    assert text_scores(1e6, num_targets=1, num_bytes=1)["perplexity"] == math.inf
    assert all(math.isnan(value) for value in text_scores(math.nan, num_targets=2, num_bytes=2).values())
