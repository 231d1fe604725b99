import pytest

from trimtab.config.presets import filled_from_preset

PRESETS = {"base": {"dim": 512, "heads": 8}, "tiny": {"dim": 64, "heads": 2}}


def test_what_is_given_stands_before_what_the_preset_says():
    filled = filled_from_preset({"preset": "tiny", "dim": 96, "norm": "rms"}, PRESETS)
    assert filled == {"preset": "tiny", "dim": 96, "heads": 2, "norm": "rms"}


def test_without_a_preset_every_size_is_needed():
    assert filled_from_preset({"dim": 8, "heads": 1}, PRESETS) == {"dim": 8, "heads": 1}
    with pytest.raises(ValueError, match="dim, heads: not given"):
        filled_from_preset({}, PRESETS)
    with pytest.raises(ValueError, match="heads: not given"):
        filled_from_preset({"dim": 8}, PRESETS)


def test_an_unknown_preset_leaves_no_size_open():
    assert filled_from_preset({"preset": "huge"}, PRESETS) == {"preset": "huge", **PRESETS["base"]}
