from hypothesis import given
from hypothesis import strategies as st

from trimtab.logit_tiles import WHOLE_TOKENS, Precisions, evenly, tiling

MIB = 2**20
MIXED = Precisions(4, 4, 2)
FROZEN = Precisions(2, 2, 2, trains_weights=False)
KINDS = [MIXED, Precisions(4, 4, 4), Precisions(2, 4, 2), Precisions(2, 2, 2), FROZEN]


@given(
    tokens=st.integers(0, 300_000),
    rows=st.integers(1, 4000).map(lambda blocks: 64 * blocks),
    dim=st.sampled_from([64, 512, 1024, 2048, 4096, 8192]),
    of=st.sampled_from(KINDS),
)
def test_what_is_alive_at_once_is_less_than_twice_the_limit(tokens, rows, dim, of):
    limit = 128 * MIB
    piece = tiling(tokens, rows, dim, of=of, limit=limit, least=1024)
    assert 1 <= piece.rows <= rows
    assert 1 <= piece.tokens <= max(1, tokens)
    size = of.logits
    in_matrix = rows if piece.once else piece.rows
    alive = piece.tokens * piece.rows * size
    alive += piece.tokens * dim * size * (of.hidden != of.logits)
    alive += in_matrix * dim * size * (of.weights != of.logits)
    alive += in_matrix * dim * 4 * (of.weights == 2 and of.trains_weights)
    assert alive < 2 * limit


def test_a_vocabulary_is_whole_where_enough_tokens_fit_and_cut_where_they_do_not():
    words = {"of": MIXED, "limit": 128 * MIB, "least": WHOLE_TOKENS["cuda"]}
    assert tiling(16384, 16000, 512, **words)[:3] == (4096, 16000, True)
    assert tiling(16384, 32000, 1024, **words).once
    cut = tiling(8192, 128000, 2048, **words)
    assert not cut.once
    assert cut.rows < 128000
    assert tiling(100, 128000, 128, **words)[:3] == (100, 128000, True)


@given(count=st.integers(1, 100_000), most=st.integers(1, 5000))
def test_pieces_are_as_few_as_they_can_be_and_none_is_too_large(count, most):
    size = evenly(count, most)
    assert 1 <= size <= most
    assert -(-count // size) <= -(-count // (most if most < 128 else most - 7))


@given(count=st.integers(1, 2000).map(lambda blocks: 64 * blocks), most=st.integers(128, 50_000))
def test_rows_of_a_piece_begin_where_kernels_read_fast(count, most):
    assert evenly(count, most) % 8 == 0


def test_a_frozen_matrix_in_half_precision_needs_no_sums_and_so_no_second_product():
    words = {"limit": 128 * MIB, "least": WHOLE_TOKENS["cuda"]}
    assert not tiling(16384, 49152, 576, of=Precisions(2, 2, 2), **words).once
    assert tiling(16384, 49152, 576, of=FROZEN, **words).once
