from hypothesis import given
from hypothesis import strategies as st

from trimtab.guard.finite import non_finite


@given(st.floats(), st.floats())
def test_it_speaks_exactly_where_a_number_is_not_finite(loss, norm):
    wrong = loss != loss or norm != norm or abs(loss) == float("inf") or abs(norm) == float("inf")
    assert (non_finite(loss, norm) is not None) == wrong
