import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.transforms.line_set import LineSet


@given(st.lists(st.booleans(), max_size=40))
def test_it_holds_those_lines_and_takes_a_bit_for_each(is_in):
    lines = pickle.loads(pickle.dumps(LineSet.of(np.array(is_in, bool))))
    assert [line in lines for line in range(len(is_in))] == is_in
    assert len(lines) == sum(is_in)
    assert lines.bits.nbytes == (len(is_in) + 7) // 8
