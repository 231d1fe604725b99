from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data import lines as line_blocks_module
from trimtab.data.lines import BLOCK_BYTES, GAP_BYTES, line_blocks

LENGTHS = st.lists(st.sampled_from([0, 1, 5, 30, GAP_BYTES, GAP_BYTES + 1, BLOCK_BYTES, 3 * BLOCK_BYTES]))


def places(lengths, numbers):
    starts = np.cumsum([0, *(length + 1 for length in lengths)])
    return starts[numbers].astype(np.int64), starts[np.array(numbers, np.int64) + 1].astype(np.int64) - 1


@given(LENGTHS.filter(len), st.data())
def test_blocks_are_all_lines_and_never_go_back(lengths, data):
    numbers = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=20))
    begins, ends = places(lengths, numbers)
    blocks = list(line_blocks(begins, ends))
    assert [place for block in blocks for place in range(block.start, block.stop)] == [*range(len(numbers))]
    for block in blocks:
        for (_, end), (begin, _) in pairwise(zip(begins[block], ends[block], strict=True)):
            assert 0 <= begin - end <= GAP_BYTES
        assert begins[block][-1] - begins[block][0] <= BLOCK_BYTES


def test_what_is_near_is_one_block_and_what_is_far_or_behind_another():
    near, far = GAP_BYTES - 2, GAP_BYTES + 1
    begins, ends = places([10, near, 10, far, 10], [0, 2, 4, 2])
    assert list(line_blocks(begins, ends)) == [slice(0, 2), slice(2, 3), slice(3, 4)]
    assert list(line_blocks(*places([], []))) == []


def test_many_short_lines_are_few_blocks():
    begins, ends = places([99] * 100_000, range(100_000))
    assert len(list(line_blocks(begins, ends))) == -(-100 * 100_000 // line_blocks_module.BLOCK_BYTES)
