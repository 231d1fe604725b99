import pytest

from tests.for_each import for_each
from trimtab.decode.search import Search
from trimtab.errors import InputError


@for_each(
    ("values", "names"),
    [
        ({"beam": 0}, "beam"),
        ({"beam": 65}, "beam"),
        ({"length_penalty": -0.1}, "length_penalty"),
        ({"length_penalty": float("nan")}, "length_penalty"),
        ({"length_penalty": float("inf")}, "length_penalty"),
    ],
)
def test_a_value_out_of_range_is_named_with_what_is_allowed(values, names):
    with pytest.raises(InputError) as raised:
        Search(**values)
    (problem,) = raised.value.problems
    assert problem.what.startswith(names)
    assert problem.got == str(values[names])
    assert problem.allowed


def test_the_largest_and_the_smallest_values_are_allowed():
    assert Search(beam=64, length_penalty=0.0).beam == 64
    assert Search(beam=1, stop="enough").stop == "enough"
