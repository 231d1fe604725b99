import pytest

from trimtab.config.positions import KINDS
from trimtab.model.positions.build import Sizes, build_positions


@pytest.mark.parametrize("settings", KINDS, ids=lambda each: each.kind)
def test_a_module_does_what_its_settings_say(settings):
    sizes = Sizes(num_positions=7, dim=16, heads=2, scale_of_sines=1.0, scale_of_learned=1.0)
    positions = build_positions(settings(), sizes)
    assert (positions.table() is not None) == settings.adds_vectors
    assert (positions.rotary_table() is not None) == settings.rotates
    assert bool([*positions.parameters()]) == settings.is_trained
    assert positions.has_bias == settings.has_bias
    assert not positions.state_dict().keys() - {"weight"}
