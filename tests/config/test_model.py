import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.model import ENCODER_DECODER_PRESETS, EncoderDecoderModel
from trimtab.config.problems import complaints_about


def model(**values) -> EncoderDecoderModel:
    return EncoderDecoderModel.model_validate(values)


def refused(**values) -> str:
    with pytest.raises(ValidationError) as raised:
        model(**values)
    return str(raised.value)


@for_each("preset", ENCODER_DECODER_PRESETS)
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
    assert "allowed is an even number" in refused(dim=9, heads=3, layers=1, feed_forward=8)


def test_attention_dropout_is_refused():
    assert "attention_dropout" in refused(preset="base", attention_dropout=0.1)
    assert model(preset="base", attention_dropout=0).attention_dropout == 0


def complaint(**values):
    tree = {"data": {"train": [{"source": "a", "target": "b"}]}, "model": values, "length": "10 steps"}
    (found,) = complaints_about(tree)
    return found


def test_each_side_may_have_sizes_of_its_own_and_the_other_keeps_the_common_ones():
    written = model(preset="base", encoder_heads=16, decoder_feed_forward=1024, decoder_kv_heads=2)
    encoder, decoder = written.encoder, written.decoder
    assert (encoder.heads, encoder.kv_heads, encoder.feed_forward) == (16, 16, 2048)
    assert (decoder.heads, decoder.kv_heads, decoder.feed_forward) == (8, 2, 1024)
    assert model(preset="base", kv_heads=4, encoder_kv_heads=1).encoder.kv_heads == 1
    assert model(preset="base", kv_heads=4, encoder_kv_heads=1).decoder.kv_heads == 4


@pytest.mark.parametrize(
    ("values", "path", "what", "fix"),
    [
        ({"dim": 64}, "model.heads", "3 heads do not divide dim 64", "`heads: 2`"),
        ({"decoder_heads": 5}, "model.decoder_heads", "5 heads do not divide dim 192", "`decoder_heads: 4`"),
        ({"kv_heads": 2}, "model.kv_heads", "3 heads cannot share 2 heads of keys", "`kv_heads: 1`"),
        (
            {"decoder_kv_heads": 2},
            "model.decoder_kv_heads",
            "3 heads cannot share 2",
            "`decoder_kv_heads: 1`",
        ),
        ({"decoder_heads": 4, "kv_heads": 3}, "model.kv_heads", "4 heads cannot share 3", "`kv_heads: 2`"),
        (
            {"positions": "none"},
            "model.positions",
            "cannot tell the order of the words",
            "`decoder_positions: none`",
        ),
        (
            {"positions": "alibi"},
            "model.positions",
            "cannot tell the order of the words",
            "`decoder_positions: alibi`",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_told_with_what_is_allowed_and_what_to_write(values, path, what, fix):
    found = complaint(preset="tiny", **values)
    assert found.path == path
    assert what in found.what
    assert fix in found.fix
    assert found.got
    assert found.allowed


def test_missing_sizes_are_told_with_the_presets_that_fill_them():
    found = complaint(dim=64, heads=4, layers=2)
    assert found.path == "model.feed_forward"
    assert found.what == "feed_forward: not given, and no preset is named to fill it"
    assert "tiny, small, base, big" in found.allowed
    assert complaint(dim=64).path == "model"


def test_the_decoder_may_go_without_positions_or_have_its_own():
    assert model(preset="tiny", decoder_positions="none").target_positions == "none"
    assert model(preset="tiny", positions="rotary").target_positions == "rotary"
    own = {"dim": 10, "heads": 2, "layers": 1, "feed_forward": 8, "decoder_positions": "rotary"}
    assert "rotary needs an even head size" in refused(**own)


def test_the_earlier_name_of_a_linear_mix_is_read():
    model = EncoderDecoderModel.model_validate({"preset": "tiny", "encoder_mix": "free"})
    assert model.encoder_mix == "linear"
