from hypothesis import given
from hypothesis import strategies as st

from trimtab.fit.constants import BLOCK_BYTES
from trimtab.fit.shape import Weights
from trimtab.fit.weight_memory import four_bit_bytes, rounded_block, weight_bytes


@given(st.integers(1, 10**7))
def test_each_tensor_is_rounded_up_to_whole_blocks(size):
    assert rounded_block(size) % BLOCK_BYTES == 0
    assert size <= rounded_block(size) < size + BLOCK_BYTES
    assert weight_bytes(Weights("norm", (size,), "vector", count=3), 4) == 3 * rounded_block(4 * size)


def test_packed_matrices_take_half_a_byte_for_each_number_and_a_little_more():
    packed = Weights("up", (2048, 1024), "matrix", packed_rows=(1024, 1024))
    assert weight_bytes(packed, 4) == four_bit_bytes((1024, 1024), 1024)
    assert 0.5 < weight_bytes(packed, 4) / packed.numbers < 0.53
