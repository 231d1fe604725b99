import pytest

from trimtab.cli.sampling_options import sampling_of
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError

NOTHING = {"temperature": None, "top_k": None, "top_p": None, "epsilon": None, "seed": None}


def test_what_is_not_given_has_the_default_of_the_library():
    assert sampling_of(True, **NOTHING) == Sampling()
    assert sampling_of(True, **{**NOTHING, "top_k": 3, "seed": 0}) == Sampling(top_k=3, seed=0)
    assert sampling_of(False, **NOTHING) is None


def test_an_option_that_would_count_for_nothing_is_refused():
    with pytest.raises(InputError, match="--top-p: only applies"):
        sampling_of(False, **{**NOTHING, "top_p": 0.9})
