import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of, stream_of
from trimtab.config.positions import position_settings
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.positions.combined import Fading, faded_weights

SIZES = Sizes(num_positions=7, dim=16, heads=2, scale_of_sines=1.0, scale_of_learned=1.0, bidirectional=True)


def built(kind):
    torch.manual_seed(0)
    return build_positions(position_settings(kind), SIZES)


def test_each_of_the_two_does_what_it_does_alone():
    stream, x, rows = stream_of([[4, 5, 3], [6, 3]]), torch.randn(3, 16), torch.tensor([0, 4, 2])
    for relative in ("rotary", "rotary_qkv", "t5", "shaw", "alibi"):
        both, alone, absolute = built(f"sinusoidal+{relative}"), built(relative), built("sinusoidal")
        torch.testing.assert_close(both.embed(x, rows), absolute.embed(x, rows))
        assert torch.equal(both.table(), absolute.table())
        for found, wanted in zip(both.of_stream(stream), alone.of_stream(stream), strict=True):
            torch.testing.assert_close(found, wanted) if wanted is not None else found is None


def test_absolute_positions_fade_to_nothing_and_checkpoints_have_what_is_left():
    model = build(positions="learned+rotary", absolute_fade="4 steps").eval()
    alone = build(positions="rotary").eval()
    fading, rows = Fading(model, over=4), pack_of(SOURCES, TARGETS)
    fading.begin(0)
    whole = model(rows)
    plain = build(positions="learned+rotary").eval()
    torch.testing.assert_close(whole, plain(rows))
    fading.begin(3)
    stored = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert stored["source_positions.share"].tolist() == [0.25]
    between = model(rows)
    assert not torch.allclose(between, whole, atol=1e-3)
    assert faded_weights(model) == set()
    fading.begin(9)
    assert faded_weights(model) == {"source_positions.absolute.weight", "target_positions.absolute.weight"}
    alone.load_state_dict(model.state_dict(), strict=False)
    torch.testing.assert_close(model(rows), alone(rows))
    half = model.half_precision_copy(torch.bfloat16)
    assert half.source_positions.share.dtype == torch.float32
    model.load_state_dict(stored)
    assert torch.equal(model(rows), between)


def test_only_combined_positions_fade():
    for positions, message in (("rotary", "relative ones beside"), ("sinusoidal+rotary", "number of steps")):
        with pytest.raises(ValueError, match=message):
            build(positions=positions, absolute_fade="2 steps" if positions == "rotary" else "2 epochs")
