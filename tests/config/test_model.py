import pytest
from pydantic import ValidationError

from trimtab.config.model import ENCODER_DECODER_PRESETS, EncoderDecoderModel


def model(**values) -> EncoderDecoderModel:
    return EncoderDecoderModel.model_validate(values)


def refused(**values) -> str:
    with pytest.raises(ValidationError) as raised:
        model(**values)
    return str(raised.value)


@pytest.mark.parametrize("preset", ENCODER_DECODER_PRESETS)
def test_a_preset_fills_the_sizes(preset):
    assert {key: getattr(model(preset=preset), key) for key in ENCODER_DECODER_PRESETS[preset]} == (
        ENCODER_DECODER_PRESETS[preset]
    )


def test_what_is_written_beside_a_preset_wins():
    assert model(preset="base", heads=4, dropout=0.0).heads == 4
    assert model(preset="base", heads=4).dim == 512


def test_layers_is_short_for_both_sides_and_does_not_overrule_one():
    spelled = model(preset="base", layers=3, decoder_layers=1)
    assert (spelled.encoder_layers, spelled.decoder_layers) == (3, 1)


def test_without_a_preset_all_sizes_are_needed():
    assert model(dim=64, heads=2, layers=2, feed_forward=128).encoder_layers == 2
    assert "heads, encoder_layers, decoder_layers, feed_forward: not given" in refused(dim=64)


def test_an_unknown_preset_is_one_problem():
    assert refused(preset="huge").count("input_value") == 1


def test_heads_divide_the_width():
    assert "7 heads do not divide dim 512" in refused(preset="base", heads=7)


def test_rotary_positions_need_an_even_head_size():
    assert "rotary needs an even head size" in refused(
        dim=10, heads=2, layers=1, feed_forward=8, positions="rotary"
    )


def test_the_width_is_even():
    assert "an even number is needed" in refused(dim=9, heads=3, layers=1, feed_forward=8)


def test_attention_dropout_is_refused():
    assert "attention_dropout" in refused(preset="base", attention_dropout=0.1)
    assert model(preset="base", attention_dropout=0).attention_dropout == 0
