import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.decoder_model import DECODER_PRESETS, DecoderModel
from trimtab.config.presets import divisors, near_divisor
from trimtab.config.problems import complaints_about


def model(**values) -> DecoderModel:
    return DecoderModel.model_validate(values)


def refused(**values) -> str:
    with pytest.raises(ValidationError) as raised:
        model(**values)
    return str(raised.value)


@for_each("preset", DECODER_PRESETS)
def test_a_preset_fills_the_sizes_and_can_be_built_without_anything_else(preset):
    filled = model(preset=preset)
    assert {key: getattr(filled, key) for key in DECODER_PRESETS[preset]} == DECODER_PRESETS[preset]
    assert abs(filled.feed_forward / filled.dim - 8 / 3) < 0.1
    assert (filled.dim // filled.heads) in (64, 128), "sizes of heads that fast kernels have"


def test_what_is_written_beside_a_preset_wins():
    assert model(preset="base", heads=8, layers=2).heads == 8
    assert model(preset="base", heads=8, layers=2).dim == 1024


def test_without_a_preset_all_sizes_are_needed():
    assert model(dim=64, heads=2, layers=2, feed_forward=128).layers == 2
    assert "heads, layers, feed_forward: not given" in refused(dim=64)


def test_an_unknown_preset_is_one_problem():
    assert refused(preset="huge").count("input_value") == 1


@for_each(
    ("values", "what"),
    [
        ({"heads": 7}, "7 heads do not divide dim 1024"),
        ({"kv_heads": 5}, "16 heads cannot share 5 heads of keys and values evenly"),
        ({"attention_dropout": 0.1}, "attention_dropout"),
        ({"dim": 48, "heads": 16}, "rotary needs an even head size, got 3"),
        ({"positions": "none", "rope_theta": 500.0}, "only rotary positions have an angle"),
        ({"encoder_layers": 2}, "encoder_layers"),
    ],
)
def test_what_does_not_fit_is_refused(values, what):
    assert what in refused(preset="base", **values)


def test_the_width_is_even():
    assert "allowed is an even number" in refused(dim=9, heads=3, layers=1, feed_forward=8)


def test_an_odd_size_of_heads_is_well_without_rotary_positions():
    assert model(preset="base", dim=48, positions="learned").heads == 16


def test_a_resolved_model_can_be_read_again():
    for written in (model(preset="tiny"), model(preset="tiny", positions="none", kv_heads=1)):
        assert model(**written.model_dump()) == written


def test_a_refusal_names_its_key_and_a_way_out():
    tree = {
        "task": "language_model",
        "data": {"train": [{"text": "a"}]},
        "model": {"kind": "decoder", "preset": "base", "kv_heads": 5},
        "length": "10 steps",
    }
    (found,) = complaints_about(tree)
    assert found.path == "model.kv_heads"
    assert found.fix == "set `kv_heads: 4`"


def test_the_nearest_divisor_is_the_smaller_of_two():
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert [near_divisor(12, wanted) for wanted in (5, 7, 8, 100)] == [4, 6, 6, 12]
