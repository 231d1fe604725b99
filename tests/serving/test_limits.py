import pytest

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.serving.limits import ServeLimits


@for_each(
    ("given", "word"),
    [({"max_body": 0}, "max_body"), ({"max_lines": -1}, "max_lines"), ({"timeout_s": 0.0}, "timeout_s"),
     ({"max_queue": 10, "max_lines": 11}, "max_queue"), ({"idle_timeout_s": float("nan")}, "idle_timeout_s")],
)  # fmt: skip
def test_limits_that_mean_nothing_are_refused_by_name(given, word):
    with pytest.raises(InputError, match=word):
        ServeLimits(**given)


def test_a_queue_of_one_request_is_enough():
    assert ServeLimits(max_queue=5, max_lines=5).max_queue == 5
