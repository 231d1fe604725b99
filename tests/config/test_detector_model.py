import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.detector_model import DETECTOR_PRESETS, DetectorModel


@for_each("preset", [*DETECTOR_PRESETS])
def test_a_preset_fills_the_sizes_and_what_is_beside_it_wins(preset):
    assert DetectorModel(preset=preset).dim == DETECTOR_PRESETS[preset]["dim"]
    assert DetectorModel(preset=preset, dim=96, heads=4).dim == 96


@for_each("changes", [{}, {"dim": 64}, {"preset": "tiny", "heads": 3}, {"preset": "tiny", "heads": 64}])
def test_sizes_that_are_missing_or_do_not_fit_are_refused(changes):
    with pytest.raises(ValidationError):
        DetectorModel(**changes)


def test_norms_are_live_from_scratch_and_frozen_with_trained_weights():
    assert DetectorModel(preset="tiny").norms == "live"
    assert DetectorModel(preset="tiny", warm_start="runs/a").norms == "frozen"
    assert DetectorModel(path="folder").norms == "frozen"
    assert DetectorModel(path="folder", batch_norm="live").norms == "live"
