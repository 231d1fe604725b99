import torch

from tests.streams import stream_of
from trimtab.config.positions import position_settings
from trimtab.model.positions.build import Sizes, build_positions

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
