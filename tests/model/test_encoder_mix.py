import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build, logits
from trimtab.model.encoder_mix import EncoderMix, mix_weights, side_by_side


def test_all_weight_on_the_last_layer_is_a_decoder_that_reads_the_last_layer():
    plain, mixed = build().eval(), build(encoder_mix="softmax").eval()
    mixed.load_state_dict(plain.state_dict(), strict=False)
    for block in mixed.decoder.blocks:
        block.cross.mix.gain.data[-1] = 100.0
    torch.testing.assert_close(logits(mixed, SOURCES, TARGETS), logits(plain, SOURCES, TARGETS))


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_a_mix_is_the_weighted_sum_of_what_lies_side_by_side(kind):
    mix, norm = EncoderMix(layers=2, kind=kind), torch.nn.LayerNorm(8)
    outputs = [torch.randn(5, 8) for _ in range(3)]
    begun = mix(side_by_side(outputs, norm))
    torch.testing.assert_close(begun, sum(map(norm, outputs)) / 3)
    mix.gain.data = torch.tensor([0.5, -1.0, 2.0])
    weights = mix.gain.softmax(0) if kind == "softmax" else mix.gain
    wanted = sum(weight * norm(each) for weight, each in zip(weights, outputs, strict=True))
    torch.testing.assert_close(mix(side_by_side(outputs, norm)), wanted)


def test_each_decoder_layer_says_how_much_it_reads_of_each_encoder_layer():
    model = build(encoder_mix="softmax")
    model.decoder.blocks[1].cross.mix.gain.data[0] = 100.0
    found = mix_weights(model)
    assert len(found) == 2 * 3
    assert found["decoder.blocks.0 of encoder.blocks.1"] == pytest.approx(1 / 3)
    assert found["decoder.blocks.1 of embeddings"] == pytest.approx(1.0)
    assert not mix_weights(build())


def test_the_other_weights_begin_as_without_a_mix():
    plain, mixed = (dict(build(encoder_mix=kind).named_parameters()) for kind in ("last", "linear"))
    assert plain.keys() < mixed.keys()
    assert all(torch.equal(mixed[name], weight) for name, weight in plain.items())
    assert {build(encoder_mix="linear").role_of(name) for name in mixed.keys() - plain.keys()} == {"vector"}
