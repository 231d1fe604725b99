import pytest

from trimtab.decode.limits import target_limit


@pytest.mark.parametrize(("source", "expected"), [(1, 12), (25, 60), (122, 254), (123, 256), (256, 256)])
def test_twice_the_source_and_ten_more_but_never_beyond_what_the_model_knows(source, expected):
    assert target_limit(source, max_tokens=256) == expected
