import math

import pytest

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.export.quantized import Quantized, check_kind, quantized_by


def test_by_default_nothing_is_rounded():
    assert Quantized().is_exact
    assert not Quantized(kind="int8").is_exact


@for_each("points", [-0.1, 100.1, math.nan, math.inf])
def test_a_loss_is_a_number_of_points(points):
    with pytest.raises(InputError, match="--loss: out of range"):
        Quantized(kind="int8", most_loss=points)


def test_weights_that_a_target_does_not_have_are_wrong_input():
    check_kind("int8", target="ctranslate2", kinds=("float32", "int8"))
    with pytest.raises(InputError) as caught:
        check_kind("int4", target="ctranslate2", kinds=("float32", "int8"))
    (problem,) = caught.value.problems
    assert (problem.got, problem.allowed, problem.fix) == (
        "int4",
        "float32, int8",
        "use --quantization int8 (in Python: quantized='int8')",
    )
    with pytest.raises(InputError, match="leave it out for float32"):
        check_kind("int8", target="hf", kinds=("float32",))


def test_a_kind_alone_stands_for_all_of_it():
    assert quantized_by(None) == Quantized()
    assert quantized_by("int8") == Quantized(kind="int8")
    strict = Quantized(kind="int8", most_loss=1.0)
    assert quantized_by(strict) is strict


@for_each("given", [8, True, {"kind": "int8"}, ["int8"]])
def test_what_is_no_kind_is_refused_with_what_is(given):
    with pytest.raises(InputError, match=r"allowed a kind such as 'int8', or trimtab\.Quantized"):
        quantized_by(given)
