import pytest
import torch

from tests.model.tiled.where import DEVICE, exact, layout, made
from trimtab.model.tiled.backward import Attended, gradient_of_queries, gradients_of_keys
from trimtab.model.tiled.forward import attend_forward
from trimtab.model.tiled.tiles import Tile

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []
BOUND = 1e-2 if DEVICE.type == "cuda" else 1e-5
TILES = [Tile(64, 64, 4, 1), Tile(16, 32, 4, 1), Tile(32, 16, 4, 1)]


def gradients(inputs, weight, of, to, *, causal, tile):
    """Those of queries, keys and values, and what the first kernel hands to the second."""
    given = [x.detach() for x in inputs]
    out, lse = attend_forward(*given, of.spans, to.spans, causal=causal, tile=TILES[0])
    saved = Attended(*given, of.spans, to.spans, out, lse)
    of_queries, inner = gradient_of_queries(weight, saved, causal=causal, tile=tile)
    return [of_queries, *gradients_of_keys(weight, inner, saved, causal=causal, tile=tile), inner, out]


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_exact_in_all_tiles(tile, causal):
    of = layout([30, 0, 7])
    to = of if causal else layout([3, 5, 40])
    inputs, weight = made(of, to, heads=2, kv_heads=1)
    found = gradients(inputs, weight, of, to, causal=causal, tile=tile)
    truth = exact(inputs, weight, of, to, causal=causal)[1:]
    for one, other in zip(found[:3], truth, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=BOUND, atol=BOUND)


def test_the_second_kernel_is_given_the_inner_products_of_outputs_and_their_gradients():
    of = layout([20, 11])
    inputs, weight = made(of, of, heads=2, kv_heads=2)
    *_, inner, out = gradients(inputs, weight, of, of, causal=False, tile=Tile(16, 16, 4, 1))
    torch.testing.assert_close(inner, (out * weight).sum(2).T.contiguous(), rtol=BOUND, atol=BOUND)


def test_keys_that_nobody_asks_get_zeros():
    of, to = layout([0, 6]), layout([9, 4])
    inputs, weight = made(of, to, heads=1, kv_heads=1)
    _, of_keys, of_values, *_ = gradients(inputs, weight, of, to, causal=False, tile=Tile(16, 16, 4, 1))
    assert (of_keys[:9] == 0).all()
    assert (of_values[:9] == 0).all()
    assert (of_values[9:] != 0).any()
