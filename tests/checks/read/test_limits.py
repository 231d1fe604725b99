import pytest

from trimtab.checks.read.limits import MAX_CODE, refuse_long_code
from trimtab.checks.read.lines import Lines
from trimtab.errors import InputError


def test_a_script_of_the_greatest_length_is_read():
    refuse_long_code(Lines("f.py", "#" * MAX_CODE))


def test_a_longer_script_is_refused():
    with pytest.raises(InputError, match=r"f.py: too long for a script") as caught:
        refuse_long_code(Lines("f.py", "#" * (MAX_CODE + 1)))
    assert caught.value.problems[0].allowed == "at most 500,000"
