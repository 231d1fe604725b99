import math

import pytest
import torch

from tests.model.tiled.where import DEVICE, layout, made
from trimtab.model.tiled.forward import attend_forward, scale_of
from trimtab.model.tiled.tiles import Tile

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []
BOUND = 1e-2 if DEVICE.type == "cuda" else 1e-5


def forward(inputs, of, to, *, causal, tile):
    given = [x.detach() for x in inputs]
    return attend_forward(*given, of.spans, to.spans, causal=causal, tile=tile)


def segments(of, to):
    """Rows of queries and of keys of each segment."""
    ends = [each.cu_seqlens.tolist() for each in (of, to)]
    return [
        (slice(a, b), slice(c, d))
        for a, b, c, d in zip(ends[0], ends[0][1:], ends[1], ends[1][1:], strict=False)
    ]


@pytest.mark.parametrize("causal", [False, True])
def test_sums_are_those_of_the_scores_of_each_row_in_base_two(causal):
    of = layout([20, 0, 33])
    inputs, _ = made(of, of, heads=2, kv_heads=1)
    out, lse = forward(inputs, of, of, causal=causal, tile=Tile(16, 32, 4, 1))
    queries, keys, values = (x.detach().double() for x in inputs)
    for rows, columns in segments(of, of):
        for head in range(2):
            scores = queries[rows, head] @ keys[columns, 0].T / math.sqrt(32)
            if causal:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
            sums = scores.logsumexp(1) / math.log(2)
            torch.testing.assert_close(lse[head, rows].double(), sums, rtol=BOUND, atol=BOUND)
            mixed = scores.softmax(1) @ values[columns, 0]
            torch.testing.assert_close(out[rows, head].double(), mixed, rtol=BOUND, atol=BOUND)


def test_all_tiles_give_the_same_numbers():
    of, to = layout([40, 1, 30]), layout([13, 50, 4])
    inputs, _ = made(of, to, heads=1, kv_heads=1)
    tiles = [Tile(64, 64, 4, 1), Tile(16, 64, 4, 1), Tile(64, 16, 4, 1)]
    first, *others = (forward(inputs, of, to, causal=False, tile=tile) for tile in tiles)
    for other in others:
        torch.testing.assert_close(other, first, rtol=BOUND, atol=BOUND)


def test_a_row_without_keys_has_zeros_and_an_infinite_sum():
    of, to = layout([5, 4]), layout([0, 3])
    inputs, _ = made(of, to, heads=1, kv_heads=1)
    out, lse = forward(inputs, of, to, causal=False, tile=Tile(16, 16, 4, 1))
    assert (out[:5] == 0).all()
    assert (lse[:, :5] == torch.inf).all()
    assert lse[:, 5:].isfinite().all()


def test_scores_are_scaled_by_the_root_of_the_size_in_units_of_log_two():
    assert scale_of(64) * math.log(2) == pytest.approx(1 / 8)
