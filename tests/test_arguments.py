import math

import pytest
import torch

from tests.for_each import for_each
from trimtab.arguments import described, instance_of, real_number, whole_number, wrong
from trimtab.errors import InputError


def test_a_message_has_what_got_allowed_and_fix():
    error = wrong("part: size", "is too small", got=-1, allowed="1 or more", fix="pass 1")
    assert str(error) == "part: size: is too small\n  got     -1\n  allowed 1 or more\n  fix     pass 1"


def test_large_things_are_described_by_shape_or_class():
    assert described(torch.zeros(2, 3)) == "a Tensor of shape (2, 3), torch.float32"
    assert described([1] * 100) == "an object of class list"
    assert described({"kind": "adamw"}) == "{'kind': 'adamw'}"


@pytest.mark.parametrize("value", [3, torch.tensor(3)])
def test_a_whole_number_comes_back_as_an_int(value):
    assert whole_number(value, name="n", least=1, fix="") == 3


@for_each("value", [0, 2.0, True, "3", None])
def test_what_is_no_whole_number_or_too_small_is_refused(value):
    with pytest.raises(InputError, match="a whole number of at least 1"):
        whole_number(value, name="n", least=1, fix="")


def test_a_number_keeps_to_its_bounds_and_nan_to_none():
    within = {"name": "x", "fix": "", "least": 0.0, "below": 1.0}
    assert real_number(torch.tensor(0.5), **within) == 0.5
    for value in (1.0, -0.1, math.nan, "0.5", None, True):
        with pytest.raises(InputError, match="a number at least 0 and below 1"):
            real_number(value, **within)


def test_another_class_is_refused():
    assert instance_of(2, int, name="n", allowed="an int", fix="") == 2
    with pytest.raises(InputError, match="is of another type"):
        instance_of("2", int, name="n", allowed="an int", fix="")
