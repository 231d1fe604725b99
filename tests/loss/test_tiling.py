import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.loss.tiling import WHOLE_TOKENS, Tiling, evenly, tiling

MIB = 2**20


@given(
    tokens=st.integers(1, 100_000),
    rows=st.integers(1, 4000).map(lambda blocks: 64 * blocks),
    dim=st.sampled_from([64, 512, 1024, 2048, 4096, 8192]),
    logits=st.sampled_from([torch.bfloat16, torch.float16, torch.float32]),
    mixed=st.booleans(),
)
def test_what_is_alive_at_once_is_less_than_twice_the_limit(tokens, rows, dim, logits, mixed):
    limit, weights = 128 * MIB, torch.float32 if mixed else logits
    piece = tiling(tokens, rows, dim, logits=logits, weights=weights, limit=limit, least=1024)
    assert 1 <= piece.tokens <= tokens
    assert 1 <= piece.rows <= rows
    size, copied = logits.itemsize, logits != weights
    alive = piece.tokens * piece.rows * size
    if piece.once:
        alive += rows * dim * (copied * size + (weights.itemsize == 2) * 4)
    else:
        alive += piece.tokens * dim * 4 + copied * piece.rows * dim * size
    assert alive < 2 * limit


def test_a_vocabulary_is_whole_where_enough_tokens_fit_and_cut_where_they_do_not():
    words = {
        "logits": torch.bfloat16,
        "weights": torch.float32,
        "limit": 128 * MIB,
        "least": WHOLE_TOKENS["cuda"],
    }
    assert tiling(16384, 16000, 512, **words) == Tiling(4096, 16000, once=True)
    assert tiling(16384, 32000, 1024, **words).once
    cut = tiling(8192, 128000, 2048, **words)
    assert not cut.once
    assert cut.rows < 128000
    assert tiling(100, 128000, 128, **words) == Tiling(100, 128000, once=True)


@given(count=st.integers(1, 100_000), most=st.integers(1, 5000))
def test_pieces_are_as_few_as_they_can_be_and_none_is_too_large(count, most):
    size = evenly(count, most)
    assert 1 <= size <= most
    assert -(-count // size) == -(-count // most)
