import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.encoder_model import ENCODER_PRESETS, EncoderModel
from trimtab.config.model import ENCODER_DECODER_PRESETS


@for_each("preset", ENCODER_PRESETS)
def test_a_preset_is_the_encoder_of_the_encoder_decoder_of_its_name(preset):
    other = ENCODER_DECODER_PRESETS[preset]
    model = EncoderModel(preset=preset)
    assert (model.dim, model.heads, model.feed_forward) == (
        other["dim"], other["heads"], other["feed_forward"]
    )  # fmt: skip
    assert model.layers == other["encoder_layers"]
    assert EncoderModel(preset=preset, layers=1).layers == 1


@for_each(
    ("changes", "said"),
    [
        ({"heads": 5}, "do not divide"),
        ({"dim": 33, "heads": 3}, "even number"),
        ({"kv_heads": 3}, "cannot share"),
        ({"dim": 34, "heads": 2, "positions": "rotary"}, "even head size"),
        ({"positions": "alibi"}, "positions"),
        ({"layers": None}, "layers"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, said):
    sizes = {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 64, **changes}
    with pytest.raises(ValidationError, match=said):
        EncoderModel(**{key: value for key, value in sizes.items() if value is not None})
