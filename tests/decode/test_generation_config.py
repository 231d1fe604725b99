import pytest

from tests.for_each import for_each
from trimtab.decode.generation_config import USUAL, GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError


@for_each(
    ("wrong", "words"),
    [
        ({"max_tokens": 0}, "max_tokens: out of range"),
        ({"samples": 0}, "samples: out of range"),
        ({"samples": 65}, "samples: out of range"),
        ({"samples": 2, "sampling": None}, "the same text every time"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(wrong, words):
    with pytest.raises(InputError, match=words):
        GenerationConfig(**wrong)


def test_several_samples_are_drawn_and_one_may_be_the_likeliest():
    assert GenerationConfig(samples=3).sampling == USUAL
    assert GenerationConfig(sampling=None).samples == 1
    assert GenerationConfig(samples=2, sampling=Sampling(top_k=1)).samples == 2
