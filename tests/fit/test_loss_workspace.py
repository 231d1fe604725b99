import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.fit.planning import text_recipe
from trimtab.fit.activations import Program
from trimtab.fit.loss_workspace import CHUNK_BYTES, SLOW_CHUNK_BYTES, loss_workspace, tiling
from trimtab.fit.native import native_shape
from trimtab.fit.vocabulary import Vocabulary
from trimtab.loss import build
from trimtab.loss.tiling import WHOLE_TOKENS, Precisions
from trimtab.loss.tiling import tiling as tiling_of_the_loss

TYPES = {2: torch.bfloat16, 4: torch.float32}


@given(
    st.integers(0, 70000),
    st.integers(1, 300_000),
    st.integers(8, 8192),
    st.tuples(*[st.sampled_from([2, 4])] * 3),
    st.sampled_from([2**20, 2**25, 2**27]),
    st.booleans(),
)
def test_the_pieces_are_those_of_the_loss(tokens, rows, dim, sizes, limit, trained):
    of = Precisions(*(TYPES[size] for size in sizes), trains_weights=trained)
    own = tiling_of_the_loss(tokens, rows, dim, of=of, limit=limit, least=WHOLE_TOKENS["cuda"])
    assert tuple(tiling(tokens, rows, dim, sizes=sizes, trains_weights=trained, limit=limit)) == tuple(own)


def test_the_limits_are_those_of_the_loss():
    assert (CHUNK_BYTES, SLOW_CHUNK_BYTES) == (build.GPU_CHUNK_BYTES, build.SLOW_CHUNK_BYTES)


def test_the_workspace_does_not_grow_with_the_vocabulary():
    how = Program("bf16_mixed", compiled=True)
    shapes = [native_shape(text_recipe(), Vocabulary(size, size)) for size in (32_000, 256_000)]
    small, large = (loss_workspace(shape, how, targets=32768) for shape in shapes)
    assert large.hidden == small.hidden == 32768 * 512 * 4
    assert large.by_matrix == 256_000 * 512 * 4
    assert max(small.pieces, large.pieces) < 2 * CHUNK_BYTES
