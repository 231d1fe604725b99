import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of
from trimtab.model.source_attention import forward_aligned, watch_source_attention

VARIANTS = [{}, {"heads": 4, "kv_heads": 2, "bias": False}, {"positions": "rotary", "norm_position": "after"}]


@pytest.mark.quick(
    "{'heads': 4, 'kv_heads': 2, 'bias': False}", "{'positions': 'rotary', 'norm_position': 'after'}"
)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_forward_pass_is_the_models_own_and_the_head_is_what_attention_uses(variant):
    model = build(**variant).eval()
    pack = pack_of(SOURCES, TARGETS)
    taken = {}
    with torch.no_grad():
        watch_source_attention(model, pack, taken.__setitem__)
        for layer in (1, 2):
            found = forward_aligned(model, pack, layer=layer, head=2)
            torch.testing.assert_close(found.x, model(pack))
            queries, keys = found.queries[:3], found.keys[:4]  # of the first segment
            expected = (queries @ keys.T / queries.shape[1] ** 0.5).softmax(1)
            torch.testing.assert_close(taken[layer][0, 1, :3, :4], expected)


def test_padding_gets_no_attention_and_layers_above_are_not_computed():
    model = build().eval()
    taken = {}
    with torch.no_grad():
        watch_source_attention(model, pack_of(SOURCES, TARGETS), taken.__setitem__, until=1)
    assert list(taken) == [1]
    assert taken[1].shape == (3, 2, 5, 6)
    torch.testing.assert_close(taken[1].sum(-1), torch.ones(3, 2, 5))
    assert taken[1][0, :, :, 4:].abs().sum() == 0
    assert taken[1][1, :, :, 2:].abs().sum() == 0
