from typing import get_args

import pytest

from trimtab.config.positions import (
    KINDS,
    Combined,
    EncoderPositions,
    NoPositions,
    Rotary,
    RotaryValues,
    Sinusoidal,
    parts_of,
    position_settings,
)


@pytest.mark.parametrize("settings", KINDS, ids=lambda each: each.kind)
def test_every_kind_is_found_by_its_name(settings):
    assert position_settings(settings.kind) == settings


def test_theta_is_for_rotary_positions():
    assert position_settings("rotary", theta=500.0) == Rotary(500.0)


def test_an_encoder_takes_every_kind_that_tells_directions():
    tells = {each.kind for each in KINDS if each.tells_directions}
    assert tells == set(get_args(EncoderPositions))


def test_what_two_kinds_do_together_is_what_either_does():
    found = position_settings("sinusoidal+rotary_qkv", theta=500.0)
    assert found == Combined(Sinusoidal(), RotaryValues(500.0))
    assert (found.adds_vectors, found.rotates, found.has_bias, found.is_trained) == (True, True, False, False)
    assert parts_of(found) == (Sinusoidal(), RotaryValues(500.0))
    assert parts_of(NoPositions()) == (NoPositions(),)
    assert position_settings("learned+alibi").has_bias
    assert position_settings("sinusoidal+t5").is_trained
